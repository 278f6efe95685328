"""`levelfield import`: files of other tools become run folders, which the other commands take as any run."""

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from levelfield import analysis
from levelfield.analysis import guarded
from levelfield.errors import LevelfieldError
from levelfield.imported import making, reading
from levelfield.paths import tool_sha256
from levelfield.record import files, page
from levelfield.record.schema import Run
from levelfield.report import html, sentences, units
from levelfield.safety import terminals


def import_files(paths: Sequence[Path], reports: Path, console: Console) -> None:
    """Make a run folder of each file, with its report.

    All files are read before the first folder is made.

    Raises LevelfieldError: a file cannot be read, is of no tool that is read, is given twice or was imported before, or
    a folder cannot be made.
    """
    now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    made: dict[Path, Run] = {}
    for path in paths:
        found, sha256 = reading.read(path)
        run = making.make(
            found, sha256=sha256, now=now, tool_sha256=tool_sha256(), command=("levelfield", "import", path.name)
        )
        guarded.decode(files.encode(run), f"What {path.name} says")
        if reports / run.id in made or any(reports.glob(f"*-imported-{sha256[:8]}")):
            raise LevelfieldError(
                f"{path} was imported before, or is given twice.", fix="Import every file once: a copy is no new run."
            )
        made[reports / run.id] = run
    for folder, run in made.items():
        try:
            folder.mkdir(parents=True)
        except OSError as error:
            raise LevelfieldError(
                f"The folder {folder} cannot be made: {error.strerror}.", fix="Choose another one with --reports."
            ) from error
        with guarded.computing(run.id):
            _show(folder / page.NAME, run, console)


def _show(report: Path, run: Run, console: Console) -> None:
    """Write the page of a run, and print its results: each has one arm, so that a table of arms would say nothing."""
    found = analysis.analyse(run)
    files.write_atomically(report, html.render(run, found).encode())
    console.print(Text(f"\n{sentences.where_measured(run)}", "bold yellow"))
    drawn = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for title in ("result", "in this file", "launches", "calls"):
        drawn.add_column(title, justify="left" if title == "result" else "right")
    for block in found.timed[:_MOST_SHOWN]:
        (row,) = block.rows
        rate, time = row.items_per_second, row.median_ns
        value = units.rate_with_interval(rate) if block.case.per_item else units.time_with_interval(time)
        shown = row.reason if row.standing == "failed" else value
        cells = (sentences.title(block.case), shown, units.count(row.counts.launches), units.count(row.counts.calls))
        drawn.add_row(*(Text(cell) for cell in cells))
    console.print(drawn)
    if len(found.timed) > _MOST_SHOWN:
        terminals.say(console, f"And {len(found.timed) - _MOST_SHOWN} more, in the report.")
    terminals.say(console, f"Run: {report.parent.name}")
    terminals.say(console, f"Report: {report}")


_MOST_SHOWN = 20
