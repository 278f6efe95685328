"""Whole benches with one launch of everything, where a second would only say the same again."""

import io
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
from rich.console import Console

from levelfield import plan
from levelfield.record import files, journal
from levelfield.record.page import NAME as REPORT
from levelfield.record.schema import Run
from levelfield.run.bench import conduct, finish
from levelfield.run.options import Options
from tests.reported import check_run


class BenchResult(NamedTuple):
    """What a bench leaves behind."""

    run: Run
    page: Path
    out: str
    code: int


def once(selection: plan.Selection, reports: Path, launcher: str, **more: Any) -> BenchResult:
    """Do all that the command does with a selection, from its images to its page, with one launch of every arm."""
    chosen = plan.make(selection)
    blocks = tuple(msgspec.structs.replace(block, planned_generations=1) for block in chosen.blocks)
    options = Options(selection=selection, reports=reports, launcher=launcher, **more)
    out = io.StringIO()
    console = Console(file=out, width=200)
    folder = conduct(msgspec.structs.replace(chosen, blocks=blocks), options, console)
    code = finish(folder, console)
    check_run(folder)
    return BenchResult(files.read(folder), folder / REPORT, out.getvalue(), code)


def cut_off(folder: Path) -> None:
    """Let a run that has ended be as if it was killed before its first launch, after the first data set."""
    run = files.read(folder)
    blocks = tuple(msgspec.structs.replace(block, generations=()) for block in run.blocks)
    with journal.Journal(folder / files.JOURNAL) as written:
        written.write(journal.Started(msgspec.structs.replace(run, blocks=blocks, accuracies=(), finished=None)))
        for accuracy in run.accuracies[:1]:
            written.write(journal.AccuracyKnown(accuracy))
    (folder / REPORT).unlink()
