import json
import statistics

import pytest

from suite.errors import LevelfieldError
from suite.imported import vllm_serving
from suite.imported.served import ALL_FAILED
from tests.imported.recorded import content

SAVED = json.loads(content("vllm-serving.json"))


def saved(**changes: object) -> bytes:
    return json.dumps(SAVED | changes).encode()


def test_statistics_stand_for_requests_that_were_not_saved() -> None:
    found = vllm_serving.parse(content("vllm-serving.json"))
    read = {result.name: result.launches[0][0] for result in found.results}
    assert found.started == "2025-02-27T02:48:26Z"
    assert any("--save-detailed" in each for each in found.unknown)
    what = "Meta-Llama-3-8B-Instruct, 1 requests/s"
    assert read[f"{what}, time to first token, 99th percentile"].total_ns == round(1e6 * SAVED["p99_ttft_ms"])
    assert len(read) == 9


def test_a_detailed_file_of_today() -> None:
    name = "vllm-serving-0.33.0.json"
    found, said = vllm_serving.parse(content(name)), json.loads(content(name))
    read = {result.name.removeprefix("toy, at most 2 at once, "): result for result in found.results}
    first = [sample.total_ns for sample in read["time to first token"].launches[0]]
    assert len(first) == 8
    assert statistics.median(first) == pytest.approx(1e6 * said["median_ttft_ms"], rel=1e-6)
    between = [sample.total_ns for sample in read["inter-token latency"].launches[0]]
    assert statistics.median(between) == pytest.approx(1e6 * said["median_itl_ms"], rel=1e-6)
    assert read["request latency, 99th percentile"].launches[0][0].total_ns == round(1e6 * said["p99_e2el_ms"])
    assert len(read["request latency"].launches[0]) == 8
    assert read["request throughput"].scenario == "throughput"
    assert (found.left_out, len(found.unknown)) == ((), 2)


def test_requests_are_samples_where_they_were_saved_and_failed_ones_are_counted() -> None:
    detailed = saved(completed=2, failed=1, ttfts=[0.1, 0.0, 0.2], itls=[[0.01, 0.02], [], [0.03]], output_throughput=7)
    found = vllm_serving.parse(detailed)
    read = {result.name.rsplit(", 1 requests/s, ")[1]: result for result in found.results}
    assert [sample.total_ns for sample in read["time to first token"].launches[0]] == [100_000_000, 200_000_000]
    assert len(read["inter-token latency"].launches[0]) == 3
    assert "time to first token, median" not in read
    assert read["output token throughput"].scenario == "throughput"
    assert found.left_out == ("1 of the requests, which failed",)


def test_a_request_that_broke_off_is_no_sample() -> None:
    broken = saved(
        completed=1, failed=1, ttfts=[0.1, 0.2], itls=[[0.01], [0.02]], latencies=[1.0, 9.0], errors=["", "no"]
    )
    read = {result.name.rsplit(", 1 requests/s, ")[1]: result for result in vllm_serving.parse(broken).results}
    for name, ns in (("time to first token", 10**8), ("inter-token latency", 10**7), ("request latency", 10**9)):
        assert [sample.total_ns for sample in read[name].launches[0]] == [ns]


def test_a_run_in_which_every_request_failed_is_no_result() -> None:
    (only,) = vllm_serving.parse(saved(completed=0, failed=8, mean_ttft_ms=0.0)).results
    assert (only.failure, only.launches) == (ALL_FAILED, ())


def test_several_results_in_a_file_are_one_sentence() -> None:
    with pytest.raises(LevelfieldError, match="vLLM serving benchmark cannot be read"):
        vllm_serving.parse(content("vllm-serving.json") * 2)
