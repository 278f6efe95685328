"""Tables from records: nothing lost, nothing made up, and no formula for a spreadsheet."""

import csv
import io
from pathlib import Path

import msgspec
import pytest
from prometheus_client.openmetrics.parser import text_string_to_metric_families

from levelfield import analysis
from levelfield.record.schema import Case, Run
from levelfield.report import export
from levelfield.report.export import TABLES, columns_of, rows, write_csv
from levelfield.report.tables import Value
from tests.records_builder import make_run, turns_of


@pytest.mark.parametrize("name", TABLES)
def test_every_table_names_what_each_row_is_of(name: str) -> None:
    made = record()
    found = table(name, made)
    assert found
    for row in found:
        assert (row["run"], row["model"]) == (made.id, "mlp")
        assert row["arm"]
    assert len({tuple(row.items()) for row in found}) == len(found)


def test_all_that_names_a_case_is_in_every_table_and_label() -> None:
    made = record()
    (block, *_) = made.blocks
    cases = [
        msgspec.structs.replace(block.case, depth=depth, growing_cache=grows)
        for depth, grows in ((16, False), (16, True), (32, False))
    ]
    made = msgspec.structs.replace(made, blocks=tuple(msgspec.structs.replace(block, case=case) for case in cases))
    named = [name for name in Case.__struct_fields__ if name != "hosts"]
    for name in TABLES:
        found = table(name, made)
        assert len({tuple(row[each] for each in named) for row in found}) == len(cases)
    text = "".join(f"{line}\n" for line in export.write(rows("results", made, analysis.analyse(made))))
    (family, *_) = text_string_to_metric_families(text)  # type: ignore[no-untyped-call]
    labels = {tuple(sample.labels[each] for each in named) for sample in family.samples}
    assert len(labels) == len(cases)


def test_every_call_is_there() -> None:
    made = record()
    samples = [each for turn in turns_of(*made.blocks) if turn.window is not None for each in turn.window.samples_ns]
    assert sorted(int(row["call_ns"]) for row in table("calls", made)) == sorted(samples)
    assert sum(int(row["calls"]) for row in table("windows", made)) == len(samples)


def test_results_are_those_of_the_report() -> None:
    made = record()
    found = {(row["scenario"], row["arm"]): row for row in table("results", made)}
    for block in analysis.analyse(made).timed:
        for row in block.rows:
            cells = found[block.case.scenario, row.arm]
            estimate = row.items_per_second if block.case.per_item else row.call_ns
            assert estimate is not None
            assert float(cells["value"]) == estimate.value
            assert cells["rank"] == ("" if row.rank is None else str(row.rank))
    assert found["memory", "jax"]["unit"] == "bytes"


def written(rows: list[dict[str, Value]], *columns: str) -> str:
    stream = io.StringIO()
    assert write_csv(stream, columns, rows) == len(rows)
    return stream.getvalue()


@pytest.mark.parametrize("start", ["=", "+", "-", "@", "\t", "\r", "\uff1d"])
def test_every_start_of_a_formula_is_escaped_and_a_negative_number_is_not(start: str) -> None:
    assert _cells(written([{"arm": f"{start}HYPERLINK(1)"}], "arm")) == [f"'{start}HYPERLINK(1)"]
    assert _cells(written([{"value": -1.5}], "value")) == ["-1.5"]


@pytest.mark.parametrize("between", [";", "\t", "\n", "\r", "\r\n", ';"', ";;", 'x";"'])
@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
def test_no_reader_finds_a_formula_whatever_it_splits_at(between: str, delimiter: str) -> None:
    text = written([{"run": "r", "arm": f"x{between}=HYPERLINK(A1);", "rank": 1}], "run", "arm", "rank")
    for row in csv.reader(io.StringIO(text, newline=""), delimiter=delimiter):
        assert not any(cell.startswith("=") for cell in row)
    *_, last = csv.reader(io.StringIO(text, newline=""))
    assert last == ["r", f"x{between}'=HYPERLINK(A1);", "1"]


@pytest.mark.parametrize("text", ["a;b", "a\tb"])
def test_what_others_split_at_is_quoted_and_numbers_are_not(text: str) -> None:
    assert written([{"arm": text, "rank": -1, "value": -1.5}], "arm", "rank", "value").endswith(f'\n"{text}",-1,-1.5\n')


def _cells(text: str) -> list[str]:
    return [row[0] for row in csv.reader(io.StringIO(text, newline=""))][1:]


def test_what_is_not_seen_is_not_written() -> None:
    text = "a\x00b\x1b[2J\u202ec"
    assert written([{"arm": text}], "arm") == "arm\na\ufffdb\ufffd[2J\ufffdc\n"
    (line,) = [each for each in export.write([{"metric": "peak memory", "value": 5, "arm": text}]) if "{" in each]
    assert 'arm="a\ufffdb\ufffd[2J\ufffdc"' in line


@pytest.mark.parametrize("name", ['a, "b"', "a\nb", "a\rb", "a\r\nb", "a;b", "a\tb", "'a"])
def test_commas_quotes_and_line_breaks_stay_within_their_cell(tmp_path: Path, name: str) -> None:
    path = tmp_path / "x.csv"
    with path.open("w", encoding="utf-8", newline="") as stream:
        write_csv(stream, ("arm", "rank"), [{"arm": name, "rank": 1}])
    with path.open(encoding="utf-8", newline="") as stream:
        assert list(csv.reader(stream)) == [["arm", "rank"], [name, "1"]]


HOSTILE = 'a"b\\c\nd}# EOF'


def test_a_parser_of_the_format_reads_every_value_and_label() -> None:
    run = make_run(models=("mlp",), backends=("jax", "openvino"), generations=5, rounds=2, control="jax")
    results = list(rows("results", run, analysis.analyse(run)))
    text = "".join(f"{line}\n" for line in export.write(results))
    found = {family.name: family for family in text_string_to_metric_families(text)}  # type: ignore[no-untyped-call]
    calls = [row for row in results if row["metric"] == "geometric mean call"]
    family = found["levelfield_call_seconds"]
    assert (family.type, family.unit) == ("gauge", "seconds")
    assert {sample.labels["arm"]: sample.value for sample in family.samples} == {
        row["arm"]: pytest.approx(float(row["value"] or 0) * 1e-9) for row in calls
    }
    for sample in found["levelfield_call_low_seconds"].samples:
        above = next(each for each in family.samples if each.labels == sample.labels)
        assert sample.value <= above.value
    assert {sample.value for sample in found["levelfield_output_equal"].samples} == {1.0}


def test_what_a_stranger_named_stays_within_its_label() -> None:
    row: dict[str, Value] = {
        "metric": "peak memory", "value": 5, "low": None, "high": None, "arm": HOSTILE, "equal": True,
    }  # fmt: skip
    text = "".join(f"{line}\n" for line in export.write([row]))
    families = list(text_string_to_metric_families(text))  # type: ignore[no-untyped-call]
    assert [(each.name, len(each.samples)) for each in families] == [
        ("levelfield_peak_memory_bytes", 1),
        ("levelfield_output_equal", 1),
    ]
    assert (families[0].samples[0].labels, families[0].samples[0].value) == ({"arm": HOSTILE}, 5.0)


def record() -> Run:
    return make_run(models=("mlp",), backends=("jax", "openvino"), generations=5, rounds=2, max_calls=7, control="jax")


def table(name: str, made: Run) -> list[dict[str, str]]:
    stream = io.StringIO()
    write_csv(stream, columns_of(name), rows(name, made, analysis.analyse(made)))
    return list(csv.DictReader(io.StringIO(stream.getvalue())))
