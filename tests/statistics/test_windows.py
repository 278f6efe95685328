import math
import time

import numpy as np
import pytest

from suite.statistics.errors import InsufficientData, UnusableData
from suite.statistics.windows import least_calls, quantile_interval, quantiles_absent, summarise


def test_a_summary_says_what_the_calls_were() -> None:
    found = summarise(np.arange(1, 1002))
    assert (found.calls, found.minimum, found.p50, found.p90, found.p99, found.maximum) == (
        1001,
        1,
        501,
        901,
        991,
        1001,
    )


def test_an_upper_quantile_needs_as_many_calls_as_bound_it() -> None:
    assert [summarise(np.ones(calls)).p90 for calls in (28, 29)] == [None, 1.0]
    assert [summarise(np.ones(calls)).p99 for calls in (298, 299)] == [None, 1.0]
    assert quantiles_absent(28) == "a p90 needs 29 calls, a p99 needs 299 calls"
    assert quantiles_absent(29) == "a p99 needs 299 calls"
    assert quantiles_absent(299) == ""


@pytest.mark.parametrize("quantile", [0.5, 0.9, 0.99])
@pytest.mark.parametrize("confidence", [0.95, 0.99])
def test_the_slowest_of_the_fewest_calls_bounds_a_quantile_from_above(quantile: float, confidence: float) -> None:
    calls = least_calls(quantile, confidence=confidence)
    # A one-sided bound is one end of a two-sided interval with twice the tail.
    two_sided = 1 - 2 * (1 - confidence)
    assert quantile_interval(np.arange(1, calls + 1), quantile, confidence=two_sided).high == calls
    assert quantile_interval(np.arange(1, calls), quantile, confidence=two_sided).high is None
    slowest = np.random.default_rng(2).random((20_000, calls)).max(axis=1)
    assert np.mean(slowest >= quantile) >= confidence - 0.002


def test_the_spread_is_the_relative_standard_deviation_and_ignores_spikes() -> None:
    rng = np.random.default_rng(0)
    times = 100 * np.exp(0.03 * rng.standard_normal(20_000))
    times[::20] *= 10
    assert summarise(times).spread == pytest.approx(0.03, rel=0.1)


@pytest.mark.parametrize(("calls", "quantile"), [(12, 0.5), (60, 0.9), (600, 0.99)])
def test_quantile_intervals_cover_at_least_what_they_say(calls: int, quantile: float) -> None:
    rng = np.random.default_rng(1)
    truth = -math.log(1 - quantile)
    covered = 0
    for row in rng.exponential(size=(2000, calls)):
        found = quantile_interval(row, quantile)
        assert found.low is not None
        assert found.high is not None
        covered += found.low <= truth <= found.high
    assert 0.945 <= covered / 2000 <= 0.985  # discreteness makes them wider, never narrower


def test_too_few_calls_leave_an_end_open() -> None:
    assert quantile_interval([1, 2, 3], 0.5).low is None
    found = quantile_interval(np.arange(1, 301), 0.99)
    assert found.low is not None
    assert found.high is None
    assert quantile_interval(np.arange(1, 7), 0.5).high == 6


@pytest.mark.parametrize("bad", [[math.nan], [math.inf, 1.0], [0.0], [-1.0, 2.0], [[1.0, 2.0]]])
def test_what_is_no_time_is_refused(bad: list[float]) -> None:
    for function in (summarise, lambda times: quantile_interval(times, 0.5)):
        with pytest.raises(UnusableData):
            function(bad)


def test_no_calls_are_refused() -> None:
    with pytest.raises(InsufficientData, match="0 calls"):
        summarise([])


@pytest.mark.parametrize("quantile", [0, 1, 99])
def test_what_is_no_quantile_is_refused(quantile: float) -> None:
    with pytest.raises(ValueError, match="quantile"):
        quantile_interval([1.0, 2.0], quantile)


@pytest.mark.alone
def test_a_million_calls_take_no_time() -> None:
    times = np.random.default_rng(2).lognormal(10, 0.1, 1_000_000)
    began = time.process_time()
    summarise(times)
    assert quantile_interval(times, 0.99).high is not None
    assert time.process_time() - began < 2
