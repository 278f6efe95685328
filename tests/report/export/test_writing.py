"""Tables as files: CSV without formulas, and Parquet with types, of the same rows."""

import csv
import io
import sys
from importlib.util import find_spec
from pathlib import Path

import msgspec
import pytest

from levelfield import analysis
from levelfield.errors import LevelfieldError
from levelfield.report.export import TABLES, columns_of, rows, write_csv, write_parquet
from levelfield.report.tables import Value
from tests.report.export.written import record, table
from tests.report.hostile import make_hostile

needs_pyarrow = pytest.mark.skipif(find_spec("pyarrow") is None, reason="pyarrow is not here")


def test_a_stranger_s_text_is_no_formula() -> None:
    made = record()
    blocks = tuple(
        msgspec.structs.replace(block, case=msgspec.structs.replace(block.case, precision="=HYPERLINK(1)"))
        for block in made.blocks
    )
    found = table("windows", msgspec.structs.replace(made, blocks=blocks))
    assert {row["precision"] for row in found} == {"'=HYPERLINK(1)"}
    assert table("launches", make_hostile(variants=False))


def test_parquet_without_pyarrow_is_one_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)  # as if it were not installed
    with pytest.raises(LevelfieldError, match="Parquet files need pyarrow"):
        write_parquet(tmp_path / "x.parquet", columns_of("results"), [])
    assert not (tmp_path / "x.parquet").exists()


@needs_pyarrow
@pytest.mark.parametrize("name", TABLES)
def test_parquet_holds_what_csv_holds(tmp_path: Path, name: str) -> None:
    from pyarrow import parquet

    made = record()
    count = write_parquet(tmp_path / "x.parquet", columns_of(name), rows(name, made, analysis.analyse(made)))
    read = parquet.read_table(tmp_path / "x.parquet")
    assert read.num_rows == count == len(table(name, made))
    assert tuple(read.column_names) == columns_of(name)


def written(rows: list[dict[str, Value]], *columns: str) -> str:
    stream = io.StringIO()
    assert write_csv(stream, columns, rows) == len(rows)
    return stream.getvalue()


def test_a_column_that_a_row_lacks_is_an_empty_cell_and_a_further_one_is_left_out() -> None:
    assert written([{"arm": "jax", "extra": 1}, {"rank": 2}], "arm", "rank") == "arm,rank\njax,\n,2\n"


def test_a_table_without_rows_has_its_header() -> None:
    assert written([], "arm", "rank") == "arm,rank\n"


@pytest.mark.parametrize("start", ["=", "+", "-", "@", "\t", "\r"])
def test_every_start_of_a_formula_is_escaped_and_a_negative_number_is_not(start: str) -> None:
    assert _cells(written([{"arm": f"{start}HYPERLINK(1)"}], "arm")) == [f"'{start}HYPERLINK(1)"]
    assert _cells(written([{"value": -1.5}], "value")) == ["-1.5"]


def _cells(text: str) -> list[str]:
    return [row[0] for row in csv.reader(io.StringIO(text, newline=""))][1:]


@pytest.mark.parametrize("name", ['a, "b"', "a\nb", "a\r=HYPERLINK(1)", "a\r\nb"])
def test_commas_quotes_and_line_breaks_stay_within_their_cell(tmp_path: Path, name: str) -> None:
    path = tmp_path / "x.csv"
    with path.open("w", encoding="utf-8", newline="") as stream:
        write_csv(stream, ("arm", "rank"), [{"arm": name, "rank": 1}])
    with path.open(encoding="utf-8", newline="") as stream:
        assert list(csv.reader(stream)) == [["arm", "rank"], [name, "1"]]


@needs_pyarrow
@pytest.mark.parametrize("name", TABLES)
def test_types_of_parquet_follow_from_names_also_where_a_table_is_empty(tmp_path: Path, name: str) -> None:
    """A file of one run and that of another are read as one table: their types must not follow from what they hold."""
    from pyarrow import parquet

    made = record()
    write_parquet(tmp_path / "full.parquet", columns_of(name), rows(name, made, analysis.analyse(made)))
    assert write_parquet(tmp_path / "empty.parquet", columns_of(name), []) == 0
    full, empty = (parquet.read_schema(tmp_path / f"{which}.parquet") for which in ("full", "empty"))
    assert full.equals(empty)
    types = {field.name: str(field.type) for field in full}
    assert types["run"] == "string"
    assert types["threads"] == "int64"


@needs_pyarrow
def test_a_missing_value_of_parquet_is_null_and_a_whole_number_a_float_where_the_column_is(tmp_path: Path) -> None:
    from pyarrow import parquet

    columns = ("arm", "value", "rank", "equal")
    given: list[dict[str, Value]] = [{"arm": "=1+1", "value": 3}, {"rank": 2, "equal": True}]
    write_parquet(tmp_path / "x.parquet", columns, given)
    assert parquet.read_table(tmp_path / "x.parquet").to_pylist() == [
        {"arm": "=1+1", "value": 3.0, "rank": None, "equal": None},
        {"arm": None, "value": None, "rank": 2, "equal": True},
    ]
