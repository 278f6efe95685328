"""`levelfield import`: files of other tools become run folders, which the other commands take as any run."""

import hashlib
from collections.abc import Sequence
from datetime import UTC, datetime
from itertools import groupby
from pathlib import Path

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from levelfield import analysis, plugins, terminals, untrusted
from levelfield.analysis import guarded
from levelfield.errors import LevelfieldError
from levelfield.paths import tool_sha256
from levelfield.record import files, page
from levelfield.record.schema import Run
from levelfield.report import html, sentences, units
from levelfield_readers import making
from levelfield_readers.recorded import Reader, Recorded

GROUP = "levelfield.readers"
"""Entry points that are a `Reader`; those of other distributions stand beside the ones of this package."""
MAX_BYTES = 64 * 1024 * 1024
"""Largest file that is read."""
MAX_VALUES = 5_000_000
"""Most values that a file may have."""
MAX_PARTS = 100_000
"""Most launches, and series of samples of as many calls: each becomes some forty values of a record."""
_MOST_SHOWN = 20


def import_files(paths: Sequence[Path], reports: Path, console: Console) -> None:
    """Make a run folder of each file, with its report; all files are read before the first folder is made.

    Raises LevelfieldError: a file cannot be read, is of no tool that is read, is given twice or was imported before, or
    a folder cannot be made.
    """
    now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    made: dict[Path, Run] = {}
    for path in paths:
        recorded, sha256 = read(path)
        run = making.make(
            recorded, sha256=sha256, now=now, tool_sha256=tool_sha256(), command=("levelfield", "import", path.name)
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


def read(path: Path) -> tuple[Recorded, str]:
    """Read a file, and return its SHA-256 too.

    Raises LevelfieldError: it cannot be read, is longer than `MAX_BYTES`, or as `parse` does.
    """
    try:
        content = untrusted.read_plain(path, MAX_BYTES)
    except OSError as error:
        raise LevelfieldError(f"{path} cannot be read: {error.strerror or error}.", fix="Give another file.") from error
    return parse(content, path.name), hashlib.sha256(content).hexdigest()


def parse(content: bytes, name: str) -> Recorded:
    """Read the content of a file; which tool wrote it is seen from its marks.

    Raises LevelfieldError: no tool is known by them, it is damaged, holds more than `MAX_VALUES` values, or no result.
    """
    readers, broken = plugins.brought(GROUP, Reader)
    reader = next((one for one in readers.values() if any(mark in content for mark in one.marks)), None)
    if reader is None:
        known = f"Read are files of {', '.join(one.files for one in readers.values())}."
        raise LevelfieldError(
            f"{name} is of no tool whose files are read.", fix=" ".join((known, *(one.sentence for one in broken)))
        )
    if content.count(b",") >= MAX_VALUES:
        raise LevelfieldError(f"{name} holds more than {MAX_VALUES:,} values.", fix="Record fewer results at once.")
    recorded = reader.parse(content)
    if not recorded.results:
        why = f": {'; '.join(recorded.left_out[:3])}" if recorded.left_out else ""
        raise LevelfieldError(
            f"{name} of {recorded.tool} holds no result that can be taken{why}.", fix="Record it again."
        )
    launches = [samples for result in recorded.results for samples in result.launches]
    parts = len(launches) + sum(1 for samples in launches for _ in groupby(samples, key=lambda each: each.calls))
    if parts > MAX_PARTS:
        raise LevelfieldError(f"{name} holds more than {MAX_PARTS:,} launches.", fix="Record fewer results at once.")
    return recorded


def _show(report: Path, run: Run, console: Console) -> None:
    """Write the page of a run, and print its results: each has one arm, so that a table of arms would say nothing."""
    result = analysis.analyse(run)
    files.write_atomically(report, html.render(run, result).encode())
    console.print(Text(f"\n{sentences.where_measured(run)}", "bold yellow"))
    drawn = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for title in ("result", "in this file", "launches", "calls"):
        drawn.add_column(title, justify="left" if title == "result" else "right")
    for block in result.timed[:_MOST_SHOWN]:
        (row,) = block.rows
        rate, time = row.items_per_second, row.call_ns
        value = units.rate_with_interval(rate) if block.case.per_item else units.time_with_interval(time)
        shown = row.reason if row.standing == "failed" else value
        cells = (sentences.title(block.case), shown, units.count(row.counts.launches), units.count(row.counts.calls))
        drawn.add_row(*(Text(cell) for cell in cells))
    console.print(drawn)
    if len(result.timed) > _MOST_SHOWN:
        terminals.say(console, f"And {len(result.timed) - _MOST_SHOWN} more, in the report.")
    terminals.say(console, f"Run: {report.parent.name}")
    terminals.say(console, f"Report: {report}")
