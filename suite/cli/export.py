"""`levelfield export RUN…`: records as CSV or Parquet."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from suite.cli.options import CSV, REPORTS
from suite.report.export.columns import COLUMNS
from suite.safety import terminals

if TYPE_CHECKING:
    from collections.abc import Iterator

    from suite.report.export.tables import Value


@click.command()
@click.argument("runs", nargs=-1, required=True, metavar="RUN…")
@click.option(
    "--table",
    type=click.Choice(list(COLUMNS)),
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
@REPORTS
def export(runs: tuple[str, ...], table: str, csv_file: str | None, parquet: Path | None, reports: Path) -> None:
    """Write runs as one table, in CSV or Parquet.

    A run is named by its id, its folder or its run.json. Without --csv and --parquet, CSV goes to the terminal.
    """
    from suite.compare import sides
    from suite.report.export.writing import write_csv, write_parquet

    found = [sides.find(name, reports) for name in runs]
    columns = COLUMNS[table]
    if parquet is not None:
        _say(write_parquet(parquet, columns, _all(found, table)), parquet)
    if csv_file == "-" or (csv_file is None and parquet is None):
        write_csv(terminals.PrintableText(sys.stdout), columns, _all(found, table))
    elif csv_file is not None:
        target = Path(csv_file)
        with target.open("w", encoding="utf-8", newline="") as stream:
            _say(write_csv(stream, columns, _all(found, table)), target)


def _all(records: list[Path], table: str) -> "Iterator[dict[str, Value]]":
    """Read records one after the other: only one is in memory at a time."""
    from suite.analysis import guarded
    from suite.report.export.tables import rows

    for file in records:
        record = guarded.read(file)
        with guarded.computing(record.name):
            yield from rows(table, record.run, record.analysis)


def _say(count: int, target: Path) -> None:
    terminals.say(terminals.console(stderr=True), f"{count} rows in {target}")
