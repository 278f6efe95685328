"""The median's interval keeps its promise whatever the values are like."""

import math
from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import binom, quantile_test

from levelfield.statistics.arrays import InsufficientData, UnusableData
from levelfield.statistics.windows import least_calls, median_interval, quantiles, quantiles_absent
from tests.statistics.rates import check_rate


def test_an_upper_quantile_needs_as_many_calls_as_bound_it() -> None:
    assert quantiles(np.arange(1, 1002)) == (501, 901, 991, None)
    assert quantiles(np.ones(2995))[-1] == 1, least_calls(0.999)
    found = [quantiles(np.ones(calls))[1:3] for calls in (28, 29, 298, 299)]
    assert found == [(None, None), (1, None), (1, None), (1, 1)]
    assert quantiles_absent(28) == "a p90 needs 29 calls, a p99 needs 299 calls"
    assert quantiles_absent(29) == "a p99 needs 299 calls"
    assert quantiles_absent(299) == ""


@pytest.mark.parametrize("quantile", [0.5, 0.9, 0.99])
@pytest.mark.parametrize("confidence", [0.95, 0.99])
def test_the_slowest_of_the_fewest_calls_bounds_a_quantile_from_above(quantile: float, confidence: float) -> None:
    calls = least_calls(quantile, confidence=confidence)
    assert 1 - quantile**calls >= confidence > 1 - quantile ** (calls - 1)
    slowest = np.random.default_rng(2).random((20_000, calls)).max(axis=1)
    assert np.mean(slowest >= quantile) >= confidence - 0.002


@pytest.mark.parametrize("bad", [[math.nan], [math.inf, 1.0], [0.0], [-1.0, 2.0], [[1.0, 2.0]]])
def test_what_is_no_time_is_refused(bad: list[float]) -> None:
    with pytest.raises(UnusableData):
        quantiles(bad)


EXPERIMENTS = 4000
Draw = Callable[[np.random.Generator, int], NDArray[np.float64]]
DISTRIBUTIONS: dict[str, Draw] = {
    "normal": lambda random, n: random.standard_normal(n),
    "heavy tails": lambda random, n: random.standard_t(1.5, n),
    "one in ten twice as slow": lambda random, n: random.normal(0, 0.01, n) + (random.random(n) < 0.1),
    "skewed": lambda random, n: random.exponential(1.0, n) - np.log(2),
}
MEDIANS = {"normal": 0.0, "heavy tails": 0.0, "skewed": 0.0}


@pytest.mark.sampled(4)
@pytest.mark.parametrize("launches", [6, 8, 16, 40])
@pytest.mark.parametrize("name", MEDIANS)
def test_it_misses_the_median_as_often_as_order_statistics_do(name: str, launches: int) -> None:
    random = np.random.default_rng(7)
    missed = 0
    for _ in range(EXPERIMENTS):
        found = median_interval(DISTRIBUTIONS[name](random, launches))
        missed += not found.low <= MEDIANS[name] <= found.high
    # Order statistics miss as often as a coin that is thrown so many times shows so few heads, or so few tails.
    exact = max(rate for rate in (2 * binom.cdf(few, launches, 0.5) for few in range(launches // 2)) if rate <= 0.05)
    check_rate(missed, EXPERIMENTS, float(exact))


@pytest.mark.parametrize("confidence", [0.95, 0.99])
@pytest.mark.parametrize("launches", [8, 9, 40, 41])
def test_it_is_scipys_interval(launches: int, confidence: float) -> None:
    values = np.random.default_rng(launches).standard_normal(launches).round(1)  # with ties
    found, interval = median_interval(values, confidence=confidence), quantile_test(values, p=0.5)
    expected = interval.confidence_interval(confidence_level=confidence)
    assert (found.low, found.high) == (expected.low, expected.high)


@pytest.mark.parametrize(("launches", "confidence"), [(5, 0.95), (7, 0.99)])
def test_too_few_are_refused(launches: int, confidence: float) -> None:
    with pytest.raises(InsufficientData, match=f"{launches} launches cannot bound their median; {launches + 1} can"):
        median_interval(np.arange(launches, dtype=float), confidence=confidence)
    median_interval(np.arange(launches + 1, dtype=float), confidence=confidence)
