"""LoadGen's detail log, of real tests: what it result, and why it says INVALID."""

from pathlib import Path

import pytest

from levelfield.errors import LevelfieldError
from levelfield.record.schema import Absent
from levelfield_loadgen import detail_log

SERVER, MULTI, OFFLINE = (
    (Path(__file__).parent / f"data/loadgen-6.0.17-{name}-detail.txt").read_text()
    for name in ("server", "multi-stream", "offline")
)


def test_server_has_a_target_and_counts_those_who_came_too_late() -> None:
    result = detail_log.parse(SERVER)
    assert (result.scenario, result.version, result.test.valid) == ("Server", "6.0.17 @ d6147c7eb7", True)
    assert result.target_latency_ns == 15_000_000
    assert (result.test.queries, result.test.samples, result.test.late) == (2068, 2068, 0)
    assert result.test.percentiles_ns["99.00"] == 6_373_367
    assert (result.test.per_second, result.test.scheduled_per_second) == (2066.24, 2066.6)


def test_a_percentile_of_multi_stream_is_that_of_whole_queries() -> None:
    result = detail_log.parse(MULTI)
    assert (result.test.queries, result.test.samples) == (662, 5296)
    assert result.test.percentiles_ns["99.00"] == 6_776_362, "and not that of a sample, 6,128,626"
    assert result.test.late == Absent("only Server has a latency target")


def test_offline_is_one_query_and_has_a_rate() -> None:
    result = detail_log.parse(OFFLINE)
    assert (result.test.queries, result.test.samples, result.test.per_second) == (1, 9900, 4557.98)
    assert not result.test.percentiles_ns, "all samples came in one query: how long one waited is no latency"


def test_invalid_is_explained_by_the_checks_that_failed() -> None:
    spoiled = (
        SERVER.replace('"result_validity", "value": "VALID"', '"result_validity", "value": "INVALID"')
        .replace('"result_perf_constraints_met", "value": true', '"result_perf_constraints_met", "value": false')
        .replace('"early_stopping_met", "value": true', '"early_stopping_met", "value": false')
    )
    result = detail_log.parse(spoiled)
    assert not result.test.valid
    assert result.test.why_invalid.startswith("the latency target was not held; there were too few queries")


@pytest.mark.parametrize(
    ("log", "says"),
    [
        ("", "names no scenario"),
        (SERVER[: SERVER.index("result_validity")], "ends before it does"),
        (SERVER.replace("PerformanceOnly", "AccuracyOnly"), "its mode is AccuracyOnly"),
        (SERVER.replace('"effective_scenario", "value": "Server"', '"effective_scenario", "value": "Race"'), "no scen"),
        (f"{detail_log.PREFIX}{'[' * 9000}\n", "names no scenario"),
    ],
)
def test_what_is_no_whole_log_is_refused(log: str, says: str) -> None:
    with pytest.raises(LevelfieldError, match=says):
        detail_log.parse(log)


def test_numbers_that_cannot_be_are_absent() -> None:
    for value in ("-5.0", "1e999", "true", '"fast"', "0"):
        spoiled = SERVER.replace(
            '"result_completed_samples_per_sec", "value": 2066.24',
            f'"result_completed_samples_per_sec", "value": {value}',
        )
        assert spoiled != SERVER
        assert isinstance(detail_log.parse(spoiled).test.per_second, Absent)
    spoiled = SERVER.replace('"result_query_count", "value": 2068', f'"result_query_count", "value": {10**40}')
    assert detail_log.parse(spoiled).test.queries == 0
