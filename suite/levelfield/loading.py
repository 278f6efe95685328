"""A report in Python: its record, what follows from it, and its tables as DataFrames.

import levelfield

report = levelfield.load("reports/20261128-111231-standard-8c85")
report.to_pandas()                    # a row for every result
report.to_polars("windows")           # a row for every timed window
"""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from levelfield.analysis import Analysis, guarded
from levelfield.errors import LevelfieldError, explained
from levelfield.record.schema import Run
from levelfield.report.export import TABLES, columns_of, rows
from levelfield.report.tables import Value

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl


class Report(msgspec.Struct, frozen=True):
    """A report that was read and checked against the schema.

    `run`: the record, as `levelfield schema` describes it. `analysis`: what follows from it: blocks with ranks and
    intervals, status, warnings.
    """

    run: Run
    analysis: Analysis

    def rows(self, table: str = "results") -> list[dict[str, Value]]:
        """Return a table as plain values.

        `table`: `results`, `launches`, `windows` or `calls`. Returns: every row has every column of the table, in
        order; a value that is not known is None. Times are in nanoseconds where the column's name ends in `_ns`;
        `value`, `low` and `high` are in the unit of the row. Raises LevelfieldError: there is no such table.
        """
        if table not in TABLES:
            raise LevelfieldError(f"There is no table {table!r}.", fix=f"Name one of these: {', '.join(TABLES)}.")
        with guarded.computing(self.run.id):
            return [{name: row.get(name) for name in columns_of(table)} for row in rows(table, self.run, self.analysis)]

    def to_pandas(self, table: str = "results") -> "pd.DataFrame":
        """Return a table as a DataFrame of pandas.

        `table`: as in `rows`. Raises LevelfieldError: pandas is not installed, or there is no such table.
        """
        pandas: Any = _library("pandas")
        return pandas.DataFrame(self.rows(table), columns=list(columns_of(table)))

    def to_polars(self, table: str = "results") -> "pl.DataFrame":
        """Return a table as a DataFrame of polars.

        `table`: as in `rows`. Raises LevelfieldError: polars is not installed, or there is no such table.
        """
        polars: Any = _library("polars")
        found = self.rows(table)
        columns = {name: [row[name] for row in found] for name in columns_of(table)}
        # A column's values are whole numbers in one row and fractions in another.
        made: pl.DataFrame = polars.DataFrame(columns, strict=False, infer_schema_length=None)
        return made


def load(path: str | Path) -> Report:
    """Read a report.

    `path`: a run's folder, a report's HTML file, which contains the record, or that record as JSON. Raises
    LevelfieldError: it cannot be read, or is no report. Nothing in it is executed.
    """
    record = guarded.read(Path(path))
    return Report(record.run, record.analysis)


def _library(name: str) -> Any:  # noqa: ANN401  (a module)
    import importlib

    with explained(
        f"{name} is not installed here.",
        f"Install it beside levelfield (pip install {name}, or pipx inject levelfield {name}), or use rows().",
        ImportError,
    ):
        return importlib.import_module(name)
