import json
import statistics

import pytest

from levelfield.errors import LevelfieldError
from levelfield.imported import pytest_benchmark
from tests.imported.recorded import content

NAME = "pytest-benchmark-5.3.1.json"


def test_rounds_are_the_samples_of_one_launch() -> None:
    found = pytest_benchmark.parse(content(NAME))
    assert (found.version, found.started) == ("5.3.1", "2026-11-26T05:19:22Z")
    assert found.machine["cpu"]["model"] == "AMD EPYC"
    assert not found.unknown
    for result, said in zip(found.results, json.loads(content(NAME))["benchmarks"], strict=True):
        (launch,) = result.launches
        assert result.name == said["fullname"]
        assert len(launch) == said["stats"]["rounds"]
        median_ns = statistics.median(sample.total_ns / sample.calls for sample in launch)
        assert median_ns == pytest.approx(1e9 * said["stats"]["median"], rel=1e-3)


def test_without_its_rounds_only_the_median_is_there_and_that_is_said() -> None:
    whole = json.loads(content(NAME))
    for benchmark in whole["benchmarks"]:
        del benchmark["stats"]["data"]
    whole["commit_info"] = {"id": "abc", "dirty": True}
    found = pytest_benchmark.parse(json.dumps(whole).encode())
    assert all(len(result.launches[0]) == 1 for result in found.results)
    assert "--benchmark-save-data" in found.unknown[0]
    assert found.machine["measured"] == {"commit": "abc with changes"}


def test_other_forms_are_one_sentence() -> None:
    with pytest.raises(LevelfieldError, match="The output of pytest-benchmark cannot be read"):
        pytest_benchmark.parse(b'{"benchmarks": [{"stats": {}}]}')
