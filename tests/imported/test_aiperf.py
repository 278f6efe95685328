import json

import pytest

from suite.errors import LevelfieldError
from suite.imported import aiperf
from tests.imported.recorded import content

NAME = "aiperf-0.13.0.json"


def test_latencies_and_rates() -> None:
    found, said = aiperf.parse(content(NAME)), json.loads(content(NAME))
    read = {result.name: result.launches[0][0] for result in found.results}
    assert len(read) == 11
    assert (found.version, found.started) == ("0.13.0", "2026-11-26T05:32:58Z")
    assert read["toy, time to first token, median"].total_ns == round(1e6 * said["time_to_first_token"]["p50"])
    sample = read["toy, output token throughput"]
    assert 1e9 * sample.calls / sample.total_ns == pytest.approx(said["output_token_throughput"]["avg"])


def test_a_cancelled_run_has_failed_and_other_units_are_refused() -> None:
    whole = content(NAME).replace(b'"was_cancelled": false', b'"was_cancelled": true')
    assert all(result.failure for result in aiperf.parse(whole).results)
    with pytest.raises(LevelfieldError, match="the unit of request_latency is fortnights"):
        aiperf.parse(content(NAME).replace(b'"unit": "ms"', b'"unit": "fortnights"'))
