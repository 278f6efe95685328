import json
import statistics

import pytest

from suite.errors import LevelfieldError
from suite.imported import guidellm
from suite.imported.served import ALL_FAILED
from tests.imported.recorded import content

NAME = "guidellm-0.8.1.json"


def test_requests_are_samples_and_rates_are_those_of_the_file() -> None:
    found, said = guidellm.parse(content(NAME)), json.loads(content(NAME))["benchmarks"][0]["metrics"]
    read = {result.name.removeprefix("toy, concurrent 2, "): result for result in found.results}
    assert (found.version, found.started) == ("0.8.1", "2026-11-26T13:33:06Z")
    times = [sample.total_ns for sample in read["time to first token"].launches[0]]
    assert len(times) == 8
    mean_ns = 1e6 * said["time_to_first_token_ms"]["successful"]["mean"]
    assert statistics.mean(times) == pytest.approx(mean_ns, rel=1e-6)
    (rate,) = read["output tokens"].launches[0]
    mean = said["output_tokens_per_second"]["successful"]["mean"]
    assert 1e9 * rate.calls / rate.total_ns == pytest.approx(mean, rel=1e-4)


def test_statistics_stand_for_requests_that_were_not_kept() -> None:
    report = json.loads(content(NAME))
    report["benchmarks"][0]["requests"]["successful"] = None
    found = guidellm.parse(json.dumps(report).encode())
    assert "toy, concurrent 2, request latency, median" in [result.name for result in found.results]
    assert any("single requests" in each for each in found.unknown)


def test_a_benchmark_of_which_no_request_succeeded_is_no_result() -> None:
    report = json.loads(content(NAME))
    report["benchmarks"][0]["metrics"]["request_totals"] = {"successful": 0, "errored": 8}
    (only,) = guidellm.parse(json.dumps(report).encode()).results
    assert only.failure == ALL_FAILED


def test_another_form_is_one_sentence() -> None:
    with pytest.raises(LevelfieldError, match=r"GuideLLM cannot be read: .*benchmarks"):
        guidellm.parse(b'{"metadata": {"guidellm_version": "9"}, "results": []}')
