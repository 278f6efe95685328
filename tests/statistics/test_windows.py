"""A high quantile is given where enough calls bound it."""

import math

import numpy as np
import pytest

from levelfield.statistics.arrays import UnusableData
from levelfield.statistics.windows import least_calls, quantiles, quantiles_absent


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
