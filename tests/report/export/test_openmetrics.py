"""OpenMetrics text, read by the reference implementation's own parser."""

from typing import TYPE_CHECKING

import pytest
from prometheus_client.openmetrics.parser import text_string_to_metric_families

from levelfield import analysis
from levelfield.report import export
from levelfield.report.export import rows
from tests.records_builder import make_run

if TYPE_CHECKING:
    from levelfield.report.tables import Value

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
        "metric": "peak memory",
        "value": 5,
        "low": None,
        "high": None,
        "arm": HOSTILE,
        "equal": True,
    }
    text = "".join(f"{line}\n" for line in export.write([row]))
    families = list(text_string_to_metric_families(text))  # type: ignore[no-untyped-call]
    assert [(each.name, len(each.samples)) for each in families] == [
        ("levelfield_peak_memory_bytes", 1),
        ("levelfield_output_equal", 1),
    ]
    assert families[0].samples[0].labels == {"arm": HOSTILE}
    assert families[0].samples[0].value == 5.0


def test_a_result_without_a_value_has_no_sample() -> None:
    row: dict[str, Value] = {"metric": "geometric mean call", "value": None, "arm": "jax", "equal": None}
    assert list(export.write([row])) == ["# EOF"]
