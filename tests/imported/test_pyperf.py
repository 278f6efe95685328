import json
import statistics

import pytest

from levelfield.errors import LevelfieldError
from levelfield.imported import pyperf
from tests.imported.recorded import content

NAME = "pyperf-2.11.0-1.json"


def test_every_process_with_values_is_a_launch() -> None:
    found = pyperf.parse(content(NAME))
    assert (found.tool, found.version, found.started) == ("pyperf", "2.11.0", "2026-11-26T05:19:08Z")
    assert found.machine["cpu"] == {"model": "AMD EPYC", "cores": 2}
    assert [result.name for result in found.results] == ["sort a list", "dict lookup"]
    for result, benchmark in zip(found.results, json.loads(content(NAME))["benchmarks"], strict=True):
        values = [run["values"] for run in benchmark["runs"] if "values" in run]
        assert [len(launch) for launch in result.launches] == [len(each) for each in values] == [3] * 5
        read = [sample.total_ns / sample.calls for launch in result.launches for sample in launch]
        assert read == pytest.approx([1e9 * value for each in values for value in each], rel=1e-6)
        assert statistics.mean(sample.calls for launch in result.launches for sample in launch) >= 2048


def test_inner_loops_and_metadata_of_a_single_benchmark() -> None:
    file = {
        "benchmarks": [{"runs": [{"values": [2e-6], "metadata": {"loops": 8, "date": "2026-01-02 03:04:05"}}]}],
        "metadata": {"name": "one", "inner_loops": 10, "perf_version": "2.11.0"},
    }
    found = pyperf.parse(json.dumps(file).encode())
    assert found.results[0].name == "one"
    assert found.results[0].launches[0][0].calls == 80
    assert found.results[0].launches[0][0].total_ns == 160_000
    assert found.started == "2026-01-02T03:04:05Z"


def test_what_is_no_time_is_left_out() -> None:
    file = {"benchmarks": [{"runs": [{"values": [5e6]}], "metadata": {"name": "peak", "unit": "byte"}}]}
    found = pyperf.parse(json.dumps(file).encode())
    assert not found.results
    assert found.left_out == ("peak (its unit is byte, which is no time)",)


@pytest.mark.parametrize("said", [b"", b"[]", b'{"benchmarks": 1}', b'{"benchmarks": [{"runs": [{"values": ["x"]}]}]}'])
def test_other_forms_are_one_sentence(said: bytes) -> None:
    with pytest.raises(LevelfieldError, match="The output of pyperf cannot be read"):
        pyperf.parse(said)
