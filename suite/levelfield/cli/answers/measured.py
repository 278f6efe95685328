"""The answer of `levelfield bench --json` and `levelfield report --json`: what each run found."""

from collections.abc import Sequence
from pathlib import Path

import msgspec

from levelfield.analysis import guarded
from levelfield.analysis.guarded import Record
from levelfield.analysis.types import Status
from levelfield.record import files
from levelfield.record.schema import Warning_
from levelfield.report.export.tables import rows
from levelfield.report.tables import Value
from levelfield.run.results import REPORT


class MeasuredRun(msgspec.Struct, frozen=True):
    """A run, and its results."""

    run: str
    started: str
    finished: str | None
    labels: tuple[str, ...]
    """Why it is no result: smoke, injected, demonstration; empty: it is one."""
    record: str
    """Path of run.json."""
    report: str
    """Path of the page beside it."""
    exit_code: int
    status: Status
    warnings: tuple[Warning_, ...]
    results: tuple[dict[str, Value], ...]
    """Rows as `levelfield export --table results` writes them; a value that is not known is null."""


class Measured(msgspec.Struct, frozen=True):
    """All runs of a command."""

    format: int
    exit_code: int
    runs: tuple[MeasuredRun, ...]


def measured(folders: Sequence[Path], exit_code: int) -> Measured:
    """Return what runs found, from their records.

    Raises LevelfieldError: a record cannot be read.
    """
    return Measured(1, exit_code, tuple(run_of(guarded.read(folder / files.NAME)) for folder in folders))


def run_of(record: Record) -> MeasuredRun:
    """Return what a run found."""
    run, analysis = record.run, record.analysis
    with guarded.computing(record.name):
        results = tuple(rows("results", run, analysis))
    return MeasuredRun(
        run=run.id,
        started=run.started,
        finished=run.finished,
        labels=tuple(run.labels),
        record=str(record.file),
        report=str(record.file.parent / REPORT),
        exit_code=analysis.exit_code,
        status=analysis.status,
        warnings=analysis.warnings,
        results=results,
    )
