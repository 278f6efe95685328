"""Tables from records: nothing lost, nothing made up, and no formula for a spreadsheet."""

import csv
import io
import sys
from importlib.util import find_spec
from pathlib import Path

import msgspec
import pytest

from suite import analysis
from suite.errors import LevelfieldError
from suite.record import files
from suite.record.schema import Run
from suite.report.export.columns import COLUMNS
from suite.report.export.tables import rows
from suite.report.export.writing import write_csv, write_parquet
from tests.commands import one_clear_sentence, run
from tests.records_builder import make_run
from tests.report.hostile import make_hostile


def record() -> Run:
    return make_run(models=("mlp",), backends=("jax", "openvino"), generations=5, rounds=2, max_calls=7, control="jax")


def table(name: str, made: Run) -> list[dict[str, str]]:
    stream = io.StringIO()
    write_csv(stream, COLUMNS[name], rows(name, made, analysis.analyse(made)))
    return list(csv.DictReader(io.StringIO(stream.getvalue())))


@pytest.mark.parametrize("name", COLUMNS)
def test_every_table_names_what_each_row_is_of(name: str) -> None:
    made = record()
    found = table(name, made)
    assert found
    for row in found:
        assert row["run"] == made.id
        assert row["model"] == "mlp"
        assert row["arm"]
    assert len({tuple(row.items()) for row in found}) == len(found)


def test_every_call_is_there() -> None:
    made = record()
    samples = [
        sample
        for block in made.blocks
        for generation in block.generations
        for round_ in generation.rounds
        for turn in round_.turns
        if turn.window is not None
        for sample in turn.window.samples_ns
    ]
    assert sorted(int(row["call_ns"]) for row in table("calls", made)) == sorted(samples)
    assert sum(int(row["calls"]) for row in table("windows", made)) == len(samples)


def test_results_are_those_of_the_report() -> None:
    made = record()
    found = {(row["scenario"], row["arm"]): row for row in table("results", made)}
    for block in analysis.analyse(made).timed:
        for row in block.rows:
            cells = found[block.case.scenario, row.arm]
            estimate = row.items_per_second if block.case.per_item else row.median_ns
            assert estimate is not None
            assert float(cells["value"]) == estimate.value
            assert cells["rank"] == ("" if row.rank is None else str(row.rank))
    assert found["memory", "jax"]["unit"] == "bytes"


def test_a_stranger_s_text_is_no_formula() -> None:
    made = record()
    blocks = tuple(
        msgspec.structs.replace(block, case=msgspec.structs.replace(block.case, precision="=HYPERLINK(1)"))
        for block in made.blocks
    )
    found = table("windows", msgspec.structs.replace(made, blocks=blocks))
    assert {row["precision"] for row in found} == {"'=HYPERLINK(1)"}
    assert table("launches", make_hostile(variants=False))


def test_the_command_writes_several_runs_into_one_file(tmp_path: Path) -> None:
    for number in (1, 2):
        made = msgspec.structs.replace(record(), id=f"run-{number}")
        (tmp_path / "reports" / made.id).mkdir(parents=True)
        files.write(made, tmp_path / "reports" / made.id)
    out = tmp_path / "all.csv"
    command = run("export", "run-1", "run-2", "--csv", out, folder=tmp_path)
    assert command.code == 0, command.err
    with out.open(encoding="utf-8", newline="") as stream:
        assert {row["run"] for row in csv.DictReader(stream)} == {"run-1", "run-2"}
    printed = run("export", "run-1", "--table", "launches", folder=tmp_path)
    assert printed.out.startswith("run,started,model,")
    one_clear_sentence(run("export", "run-3", folder=tmp_path), "There is no run called 'run-3'", "run-1")


def test_parquet_without_pyarrow_is_one_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)  # as if it were not installed
    with pytest.raises(LevelfieldError, match="Parquet files need pyarrow"):
        write_parquet(tmp_path / "x.parquet", COLUMNS["results"], [])
    assert not (tmp_path / "x.parquet").exists()


@pytest.mark.skipif(find_spec("pyarrow") is None, reason="pyarrow is not here")
@pytest.mark.parametrize("name", COLUMNS)
def test_parquet_holds_what_csv_holds(tmp_path: Path, name: str) -> None:
    from pyarrow import parquet

    made = record()
    count = write_parquet(tmp_path / "x.parquet", COLUMNS[name], rows(name, made, analysis.analyse(made)))
    read = parquet.read_table(tmp_path / "x.parquet")
    assert read.num_rows == count == len(table(name, made))
    assert tuple(read.column_names) == COLUMNS[name]
