import json
import statistics

import pytest

from suite.errors import LevelfieldError
from suite.imported import vllm_offline
from tests.imported.recorded import content


def test_a_batch_is_a_sample() -> None:
    found, said = vllm_offline.parse_latency(content("vllm-latency.json")), json.loads(content("vllm-latency.json"))
    (result,) = found.results
    times = [sample.total_ns for sample in result.launches[0]]
    assert len(times) == 15
    assert statistics.median(times) == pytest.approx(1e9 * said["percentiles"]["50"])


def test_rates_are_those_of_the_file() -> None:
    requests, tokens = vllm_offline.parse_throughput(content("vllm-throughput.json")).results
    (sample,) = tokens.launches[0]
    assert 1e9 * sample.calls / sample.total_ns == pytest.approx(1190.9743920852, rel=1e-6)
    assert (requests.name, requests.scenario) == ("offline, requests", "throughput")


def test_another_form_is_one_sentence() -> None:
    with pytest.raises(LevelfieldError, match="vLLM offline benchmark cannot be read"):
        vllm_offline.parse_latency(b'{"avg_latency": 7.4}')
