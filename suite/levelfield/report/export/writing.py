"""Rows to a file: CSV with what is in the standard library, Parquet where pyarrow is installed."""

import csv
import itertools
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from levelfield.errors import LevelfieldError
from levelfield.report.tables import Value

if TYPE_CHECKING:
    from _typeshed import SupportsWrite

_FORMULA = ("=", "+", "-", "@", "\t", "\r")
_BATCH = 50_000
_TEXTS = frozenset(
    {
        "run", "started", "model", "scenario", "precision", "device", "arm", "backend", "version", "standing", "metric",
        "unit", "started_launch", "failure", "best_is", "quantiles_absent",
        "state", "windows_of",
    }
)  # fmt: skip
_WHOLE = frozenset(
    {"batch", "threads", "processes", "generation", "round", "turn", "calls", "call", "call_ns", "launches", "rank"}
)
_TRUE_OR_FALSE = frozenset({"cache_warm", "equal", "disturbed"})


def write_csv(stream: "SupportsWrite[str]", columns: Sequence[str], rows: Iterable[dict[str, Value]]) -> int:
    """Write rows as CSV with a header.

    A text that a spreadsheet would take for a formula gets an apostrophe before it: names in a record are not trusted.

    `rows`: values by column; a missing one is an empty cell, and one that `columns` lacks is left out.
    """
    writer = csv.writer(stream, lineterminator="\n")
    quoting = csv.writer(stream, lineterminator="\n", quoting=csv.QUOTE_ALL)
    writer.writerow(columns)
    count = 0
    for row in rows:
        values = [_plain(row.get(name)) for name in columns]
        # Python 3.11 quotes a line feed by itself and a carriage return not, at which readers begin a new row, too.
        (quoting if any(isinstance(value, str) and "\r" in value for value in values) else writer).writerow(values)
        count += 1
    return count


def _plain(value: Value) -> Value:
    if isinstance(value, str) and value.startswith(_FORMULA):
        return f"'{value}"
    return value


def write_parquet(path: Path, columns: Sequence[str], rows: Iterable[dict[str, Value]]) -> int:
    """Write rows as Parquet.

    Raises LevelfieldError: pyarrow is not installed.
    """
    try:
        import pyarrow as pa
        from pyarrow import parquet
    except ImportError as error:
        raise LevelfieldError(
            "Parquet files need pyarrow, which is not installed here.",
            fix="Install it beside levelfield (pip install 'levelfield[parquet]'), or write CSV with --csv.",
        ) from error
    schema: Any = pa.schema([(name, _type(name, pa)) for name in columns])
    rest = iter(rows)
    count = 0
    with parquet.ParquetWriter(path, schema) as writer:
        while batch := list(itertools.islice(rest, _BATCH)):
            whole = [{name: _typed(name, row.get(name)) for name in columns} for row in batch]
            writer.write_table(pa.Table.from_pylist(whole, schema=schema))
            count += len(batch)
    return count


def _type(name: str, pa: Any) -> Any:  # noqa: ANN401  (pyarrow's types)
    if name in _TEXTS:
        return pa.string()
    if name in _TRUE_OR_FALSE:
        return pa.bool_()
    return pa.int64() if name in _WHOLE else pa.float64()


def _typed(name: str, value: Value) -> Value:
    known = name in _TEXTS or name in _TRUE_OR_FALSE or name in _WHOLE
    return float(value) if value is not None and not known and not isinstance(value, str) else value
