"""Trials of `levelfield ab`: one call of it, what a record keeps of its rows, and a record that calls are added to."""

import shutil
import tempfile
import time
from pathlib import Path
from typing import Any, TypeVar

import msgspec
from rich.console import Console

from studies.record import Extensible
from suite.compare.types import Gate, Row, Verdict
from suite.plan import Selection
from suite.record.schema import Run
from suite.run.ab import AbResult, measure
from suite.run.options import Options
from suite.statistics.proportions import Proportion
from suite.version import __version__


class Decision(msgspec.Struct, frozen=True, kw_only=True):
    """The verdict of one case."""

    verdict: Verdict
    reason: str
    launches: int
    ratio: float | None
    low: float | None
    high: float | None
    confidence: float | None


class AbRecord(Extensible, frozen=True, kw_only=True):
    """The record of a trial that calls `ab`."""

    gate: Gate


_R = TypeVar("_R", bound=AbRecord)


def decision(row: Row) -> dict[str, Any]:
    """Return the fields of a `Decision`."""
    ratio = {name: getattr(row.ratio, name, None) for name in ("low", "high")}
    return {
        "verdict": row.verdict,
        "reason": row.reason,
        "launches": row.new_replicates,
        "ratio": row.ratio.value if row.ratio else None,
        **ratio,
        "confidence": row.confidence,
    }


def call(
    old: str,
    new: str,
    *,
    gate: Gate,
    budget_seconds: float | None,
    **selected: Any,  # noqa: ANN401
) -> tuple[AbResult, float]:
    """Run `ab` in containers, without its display, and delete its reports."""
    reports = Path(tempfile.mkdtemp(prefix="levelfield-trial-"))
    options = Options(
        selection=Selection(control="none", **selected),
        budget_seconds=budget_seconds,
        margin=gate.margin,
        reports=reports,
        launcher="docker",
    )
    began = time.monotonic()
    try:
        return measure(old, new, options, gate, Console(quiet=True)), time.monotonic() - began
    finally:
        shutil.rmtree(reports, ignore_errors=True)


def extended(before: _R | None, kind: type[_R], run: Run, gate: Gate, settings: dict[str, str], **fields: Any) -> _R:  # noqa: ANN401
    """Return a record with the result of one more call."""
    record = before or kind(
        schema=kind.SCHEMA,
        started=run.started,
        updated=run.started,
        tool_version=__version__,
        settings=settings,
        gate=gate,
        machine=run.machine,
        **fields,
    )
    return msgspec.structs.replace(record, updated=run.finished or run.started, **fields)


def share(found: Proportion, noun: str = "") -> str:
    """Write a proportion with its interval: `3 of 20 trials (3.2 to 37.9 %)`."""
    total = f"{found.trials} {noun}".rstrip()
    return f"{found.successes} of {total} ({100 * found.low:.1f} to {100 * found.high:.1f} %)"
