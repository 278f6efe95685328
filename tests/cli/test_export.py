"""`levelfield export` as people type it."""

import csv
import io
from importlib.util import find_spec
from pathlib import Path

import msgspec
import pytest

from levelfield.record import files
from levelfield.record.schema import Run
from levelfield.report.export.tables import TABLES, columns_of
from tests.commands import call, one_clear_sentence
from tests.records_builder import make_run


def record() -> Run:
    return make_run(models=("mlp",), backends=("jax", "openvino"), generations=5, rounds=2, max_calls=7, control="jax")


def test_the_command_writes_several_runs_into_one_file(tmp_path: Path) -> None:
    for number in (1, 2):
        made = msgspec.structs.replace(record(), id=f"run-{number}")
        (tmp_path / "reports" / made.id).mkdir(parents=True)
        files.write(made, tmp_path / "reports" / made.id)
    out = tmp_path / "all.csv"
    command = call("export", "run-1", "run-2", "--csv", out, folder=tmp_path)
    assert command.code == 0, command.err
    with out.open(encoding="utf-8", newline="") as stream:
        assert {row["run"] for row in csv.DictReader(stream)} == {"run-1", "run-2"}
    printed = call("export", "run-1", "--table", "launches", folder=tmp_path)
    assert printed.out.startswith("run,started,model,")
    one_clear_sentence(call("export", "run-3", folder=tmp_path), "There is no run called 'run-3'", "run-1")


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A folder with `reports/a-run/`."""
    (tmp_path / "reports" / "a-run").mkdir(parents=True)
    files.write(msgspec.structs.replace(record(), id="a-run"), tmp_path / "reports" / "a-run")
    return tmp_path


@pytest.mark.parametrize("table", TABLES)
def test_every_table_goes_to_the_terminal_unless_told_otherwise(place: Path, table: str) -> None:
    command = call("export", "a-run", "--table", table, folder=place)
    assert command.code == 0, command.err
    header, *rows = csv.reader(io.StringIO(command.out))
    assert tuple(header) == columns_of(table)
    assert rows
    assert command.err == "", "nothing but the table, for a pipe"


def test_a_minus_is_the_terminal_and_a_file_is_announced_beside_it(place: Path) -> None:
    printed = call("export", "a-run", "--csv", "-", folder=place)
    assert printed.out == call("export", "a-run", folder=place).out
    command = call("export", "a-run", "--csv", place / "all.csv", folder=place)
    rows = len(printed.out.splitlines()) - 1
    assert (command.out, command.err) == ("", f"{rows} rows in {place / 'all.csv'}\n")


def test_a_file_in_a_folder_that_is_not_there(place: Path) -> None:
    one_clear_sentence(call("export", "a-run", "--csv", "gone/all.csv", folder=place), "No such file or directory")


def test_what_is_no_table_says_which_there_are(place: Path) -> None:
    command = call("export", "a-run", "--table", "samples", folder=place)
    assert command.code == 2
    assert "'results', 'launches', 'windows', 'calls'" in " ".join(command.err.split())


@pytest.mark.skipif(find_spec("pyarrow") is not None, reason="pyarrow is here")
def test_parquet_needs_pyarrow(place: Path) -> None:
    one_clear_sentence(call("export", "a-run", "--parquet", "x.parquet", folder=place), "pyarrow")
    assert not (place / "x.parquet").exists()


@pytest.mark.skipif(find_spec("pyarrow") is None, reason="pyarrow is not here")
def test_parquet_is_written_beside_csv(place: Path) -> None:
    command = call("export", "a-run", "--parquet", "x.parquet", "--csv", "-", folder=place)
    assert command.code == 0, command.err
    assert (place / "x.parquet").is_file()
    assert f"{len(command.out.splitlines()) - 1} rows in x.parquet" in command.err


def test_metrics_go_to_a_file_or_to_the_terminal(place: Path) -> None:
    printed = call("export", "a-run", "--openmetrics", "-", folder=place)
    assert printed.code == 0, printed.err
    assert printed.out.endswith("# EOF\n")
    command = call("export", "a-run", "--openmetrics", place / "levelfield.prom", folder=place)
    assert (place / "levelfield.prom").read_text(encoding="utf-8") == printed.out
    assert "samples in" in command.err
    assert call("export", "a-run", "--openmetrics", "-", "--table", "calls", folder=place).code == 2
