import json

import pytest

from suite.errors import LevelfieldError
from suite.imported import aiperf_requests
from suite.imported.served import ALL_FAILED
from tests.imported.recorded import content

NAME = "aiperf-requests-0.13.0.jsonl"
LINES = [json.loads(line) for line in content(NAME).splitlines()]


def written(lines: list[dict[str, object]]) -> bytes:
    return "\n".join(map(json.dumps, lines)).encode()


def test_a_line_is_a_sample() -> None:
    found = aiperf_requests.parse(content(NAME))
    latency, first, between = found.results
    assert [len(each.launches[0]) for each in (latency, first, between)] == [12, 12, 12]
    assert latency.launches[0][0].total_ns == round(1e6 * LINES[0]["metrics"]["request_latency"]["value"])
    assert isinstance(found.started, str)
    assert found.started.startswith("2026-11-26T")


def test_warm_up_is_left_out_and_failed_requests_are_counted() -> None:
    warm = LINES[0] | {"metadata": LINES[0]["metadata"] | {"benchmark_phase": "warmup"}}
    broken = LINES[1] | {"error": {"code": 500, "message": "no"}}
    found = aiperf_requests.parse(written([warm, broken, *LINES[2:]]))
    assert len(found.results[0].launches[0]) == 10
    assert found.left_out == ("1 of the requests, which failed",)
    (only,) = aiperf_requests.parse(written([broken])).results
    assert only.failure == ALL_FAILED


def test_a_line_that_cannot_be_read_is_one_sentence() -> None:
    with pytest.raises(LevelfieldError, match="AIPerf cannot be read"):
        aiperf_requests.parse(content(NAME) + b'{"metadata": {"request_start_ns": "soon"}}')
    with pytest.raises(LevelfieldError, match="the unit of request_latency is fortnights"):
        aiperf_requests.parse(content(NAME).replace(b'"unit":"ms"', b'"unit":"fortnights"'))
