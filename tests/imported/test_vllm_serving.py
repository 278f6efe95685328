import json

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


def test_requests_are_samples_where_they_were_saved_and_failed_ones_are_counted() -> None:
    detailed = saved(completed=2, failed=1, ttfts=[0.1, 0.0, 0.2], itls=[[0.01, 0.02], [], [0.03]], output_throughput=7)
    found = vllm_serving.parse(detailed)
    read = {result.name.rsplit(", 1 requests/s, ")[1]: result for result in found.results}
    assert [sample.total_ns for sample in read["time to first token"].launches[0]] == [100_000_000, 200_000_000]
    assert len(read["inter-token latency"].launches[0]) == 3
    assert "time to first token, median" not in read
    assert read["output token throughput"].scenario == "throughput"
    assert found.left_out == ("1 of the requests, which failed",)


def test_a_run_in_which_every_request_failed_is_no_result() -> None:
    (only,) = vllm_serving.parse(saved(completed=0, failed=8, mean_ttft_ms=0.0)).results
    assert (only.failure, only.launches) == (ALL_FAILED, ())


def test_several_results_in_a_file_are_one_sentence() -> None:
    with pytest.raises(LevelfieldError, match="vLLM serving benchmark cannot be read"):
        vllm_serving.parse(content("vllm-serving.json") * 2)
