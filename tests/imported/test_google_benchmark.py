import json
import statistics
from typing import Any

import pytest

from levelfield.errors import LevelfieldError
from levelfield.imported import google_benchmark
from levelfield.imported.types import Recorded
from tests.imported.recorded import content

NAME = "google-benchmark-1.7.1.json"


def parse(*lines: dict[str, Any]) -> Recorded:
    return google_benchmark.parse(json.dumps({"context": {}, "benchmarks": lines}).encode())


def test_repetitions_are_samples_and_aggregates_follow_from_them() -> None:
    found = google_benchmark.parse(content(NAME))
    assert [result.name for result in found.results] == ["BM_StringCreation", "BM_Sort/64", "BM_Sort/1024"]
    lines = json.loads(content(NAME))["benchmarks"]
    for result in found.results:
        (launch,) = result.launches
        assert len(launch) == 3
        own = next(each for each in lines if each["name"] == f"{result.name}_median")
        median_ns = statistics.median(sample.total_ns / sample.calls for sample in launch)
        assert median_ns == pytest.approx(own["real_time"], rel=1e-6)
    assert not found.left_out
    assert found.machine["library"] == {"build": "debug"}


def test_units_errors_and_lone_aggregates() -> None:
    found = parse(
        {"name": "slow", "iterations": 2, "real_time": 3.5, "time_unit": "ms"},
        {"name": "broken", "error_occurred": True, "error_message": "no \x1b[31mdevice"},
        {"name": "few_mean", "run_name": "few", "run_type": "aggregate", "aggregate_name": "mean", "real_time": 1.0},
    )
    assert found.results[0].launches[0][0].total_ns == 7_000_000
    assert found.results[1].failure == "no \N{REPLACEMENT CHARACTER}[31mdevice"
    assert "only aggregates were written" in found.left_out[0]


def test_an_unknown_unit_is_one_sentence() -> None:
    with pytest.raises(LevelfieldError, match="its unit of time is fortnights"):
        parse({"name": "x", "real_time": 1.0, "time_unit": "fortnights"})
