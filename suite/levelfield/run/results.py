"""The result of a run: its page beside the record, and its answer in the terminal."""

import shlex
from pathlib import Path

from rich.console import Console
from rich.markup import escape

from levelfield.analysis import Analysis, summaries
from levelfield.compare.formats import terminal as comparison_terminal
from levelfield.compare.formats.html import within
from levelfield.compare.types import Comparison
from levelfield.record import files
from levelfield.record.schema import Run
from levelfield.report import html, terminal
from levelfield.safety import terminals
from levelfield.share import run_evidence

REPORT = "report.html"


def show_result(
    record: Path,
    run: Run,
    result: Analysis,
    console: Console,
    *,
    measured: bool,
    comparison: Comparison | None = None,
    sign: Path | None = None,
) -> None:
    """Write the page of a run beside its record, and show its result.

    `comparison`: of the arms of an `ab`, whose answer is shown first; None: the run is a bench. `sign`: SSH key that
    signs the run's statement; None: it is not signed.
    """
    if measured:
        evidence, unproven = run_evidence.write_evidence(record.parent, run, result, sign)
    else:
        evidence, unproven = run_evidence.read_evidence(record, run, result, sign)
    page = record.parent / REPORT
    compared = within(comparison) if comparison is not None else None
    files.write_atomically(page, html.render(run, result, comparison=compared, evidence=evidence).encode())
    if comparison is not None:
        comparison_terminal.show(comparison, console)
    else:
        (terminal.show_summary if measured else terminal.show)(run, result, console)
    console.print(f"\nReport: [bold]{escape(str(page))}[/]", highlight=False, soft_wrap=True)
    missing = [unproven]
    if measured:
        terminals.say(console, f"Record: {record}")
        if comparison is None:
            terminals.say(console, f"All tables and warnings: levelfield report {shlex.quote(str(record.parent))}")
        missing.append(summaries.enter(record.parent, run, result))
    for text in filter(None, missing):
        terminals.say(console, text, "yellow")
