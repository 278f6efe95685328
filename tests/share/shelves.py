"""A reports folder for tests: two machines, several runs each, one labelled, one broken."""

from pathlib import Path

import msgspec

from levelfield.analysis import analyse
from levelfield.paths import tool_sha256
from levelfield.record import files
from levelfield.record.page import NAME as REPORT
from levelfield.record.schema import Run
from levelfield.report import html
from tests.analysis.many import at, small_run
from tests.compare.runs import with_machine
from tests.records_builder import kept


def made(number: int, *, other: bool = False, slower: float = 1.0, labels: tuple[str, ...] = ()) -> Run:
    run = small_run(seed=number, slower={"openvino": slower})
    run = msgspec.structs.replace(
        run, id=f"run-{number:02}{'-other' if other else ''}", started=at(number), labels=labels
    )
    return with_machine(run, cpu={"model": "Another Processor"}) if other else run


def changed_page(run: Run) -> str:
    """Return the page of a run with a script that nobody rendered."""
    return html.render(run, analyse(run)) + "<script>alert('not ours')</script>"


def fill(reports: Path) -> Path:
    """Write eight runs of one machine (the last three slower), one of another, a smoke run, and rubbish.

    Beside the first record lies a page that another version might have written, or anybody else.
    """
    runs = [made(number, slower=1.0 if number < 5 else 1.5) for number in range(8)]
    runs += [made(3, other=True), made(9, labels=("smoke",))]
    settings = msgspec.structs.replace(runs[-1].settings, profile="smoke")
    runs[-1] = msgspec.structs.replace(runs[-1], settings=settings, command=("levelfield", "bench"))
    for run in runs:
        kept(run, reports / run.id)
    foreign = changed_page(runs[0]).replace(tool_sha256(), "0" * 64)
    (reports / runs[0].id / REPORT).write_text(foreign, encoding="utf-8")
    (reports / "broken").mkdir()
    (reports / "broken" / files.NAME).write_text("{", encoding="utf-8")
    return reports
