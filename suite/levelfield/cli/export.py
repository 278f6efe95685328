"""`levelfield export RUN…`: records as CSV, Parquet or OpenMetrics text."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from levelfield.cli import completion
from levelfield.cli.options import CSV, REPORTS
from levelfield.errors import printable
from levelfield.record.files import write_atomically
from levelfield.report.export.tables import TABLES, columns_of
from levelfield.safety import terminals

if TYPE_CHECKING:
    from collections.abc import Iterator

    from levelfield.report.tables import Value


@click.command()
@click.argument("runs", nargs=-1, required=True, metavar="RUN…", shell_complete=completion.runs)
@click.option(
    "--table",
    type=click.Choice(TABLES),
    default="results",
    help="What each row is: a result, a launch, a window or a single timed call.",
)
@CSV
@click.option(
    "--parquet",
    metavar="FILE",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Write Parquet to this file.",
)
@click.option(
    "--openmetrics", metavar="FILE", help="Write results as OpenMetrics text to this file; - for the terminal."
)
@REPORTS
def export(
    runs: tuple[str, ...],
    table: str,
    csv_file: str | None,
    parquet: Path | None,
    openmetrics: str | None,
    reports: Path,
) -> None:
    """Write runs as one table, in CSV or Parquet, or as metrics.

    A run is named by its id, its folder or its run.json. Without an option, CSV goes to the terminal.
    """
    from levelfield.compare import sides
    from levelfield.report.export import openmetrics as metrics
    from levelfield.report.export.writing import write_csv, write_parquet

    if openmetrics is not None and table != "results":
        raise click.UsageError("--openmetrics has results alone: leave --table out.")
    if openmetrics == csv_file == "-":
        raise click.UsageError("Either CSV or OpenMetrics can go to the terminal, not both.")
    found = [sides.find(name, reports) for name in runs]
    columns = columns_of(table)
    if parquet is not None:
        _say(write_parquet(parquet, columns, _all(found, table)), parquet)
    if openmetrics is not None:
        lines = list(metrics.write(_all(found, table)))
        text = "".join(f"{printable(line)}\n" for line in lines)
        if openmetrics == "-":
            terminals.write(text)
        else:
            write_atomically(Path(openmetrics), text.encode())
            _say(sum(not line.startswith("#") for line in lines), Path(openmetrics), "samples")
    if csv_file == "-" or (csv_file is None and parquet is None and openmetrics is None):
        write_csv(terminals.PrintableText(sys.stdout), columns, _all(found, table))
    elif csv_file is not None:
        target = Path(csv_file)
        with target.open("w", encoding="utf-8", newline="") as stream:
            _say(write_csv(stream, columns, _all(found, table)), target)


def _all(records: list[Path], table: str) -> "Iterator[dict[str, Value]]":
    """Read records one after the other: only one is in memory at a time."""
    from levelfield.analysis import guarded
    from levelfield.report.export.tables import rows

    for file in records:
        record = guarded.read(file)
        with guarded.computing(record.name):
            yield from rows(table, record.run, record.analysis)


def _say(count: int, target: Path, what: str = "rows") -> None:
    terminals.say(terminals.console(stderr=True), f"{count} {what} in {target}")
