import math
import time

import numpy as np
import pytest

from suite.statistics.bootstrap import MIN_ROUNDS, quantile_ratio
from suite.statistics.errors import InsufficientData, UnusableData


@pytest.mark.parametrize("quantile", [0.5, 0.9])
def test_intervals_cover_the_truth_in_spite_of_drift(quantile: float) -> None:
    rng = np.random.default_rng(4)
    experiments, rounds, calls = 2000, 20, 12
    covered = 0
    for _ in range(experiments):
        drift = np.exp(0.05 * rng.standard_normal((rounds, 1)))
        a = 1.1 * drift * np.exp(0.1 * rng.standard_t(3, (rounds, calls)).clip(-20, 20))
        b = drift * np.exp(0.1 * rng.standard_t(3, (rounds, calls)).clip(-20, 20))
        found = quantile_ratio(list(a), list(b), quantile, resamples=200)
        covered += found.low <= 1.1 <= found.high
    assert 0.93 <= covered / experiments <= 0.97


def test_drawing_the_same_rounds_for_both_arms_cancels_their_drift() -> None:
    rng = np.random.default_rng(5)
    drift = np.exp(0.3 * rng.standard_normal((30, 1)))
    a = drift * np.exp(0.01 * rng.standard_normal((30, 50)))
    b = drift * np.exp(0.01 * rng.standard_normal((30, 50)))
    joint = quantile_ratio(list(a), list(b), 0.5)
    apart = quantile_ratio(list(a), list(b[::-1]), 0.5)
    assert math.log(joint.high / joint.low) < 0.3 * math.log(apart.high / apart.low)


def test_the_estimate_is_the_ratio_of_the_pooled_quantiles() -> None:
    rng = np.random.default_rng(6)
    a, b = rng.lognormal(0, 0.2, (2, 12, 500))
    found = quantile_ratio(list(a), list(b), 0.9)
    assert found.ratio == pytest.approx(np.quantile(a, 0.9) / np.quantile(b, 0.9), rel=0.003)
    assert found.low < found.ratio < found.high


def test_the_same_record_gives_the_same_numbers() -> None:
    rng = np.random.default_rng(6)
    a, b = rng.lognormal(0, 0.2, (2, 12, 50))
    assert quantile_ratio(list(a), list(b), 0.9) == quantile_ratio(list(a), list(b), 0.9)


def test_rounds_may_have_different_numbers_of_calls() -> None:
    a = [np.full(n, 2.0) for n in range(1, 12)]
    b = [np.full(3, 1.0)] * 11
    found = quantile_ratio(a, b, 0.5)
    assert (found.low, found.ratio, found.high) == pytest.approx((2.0, 2.0, 2.0))


def test_rubbish_is_refused() -> None:
    row = [np.ones(3)] * MIN_ROUNDS
    with pytest.raises(InsufficientData, match="9 rounds"):
        quantile_ratio(row[:9], row[:9], 0.5)
    with pytest.raises(UnusableData, match="shared by all arms"):
        quantile_ratio(row, row[:9], 0.5)
    with pytest.raises(InsufficientData, match="calls of a round"):
        quantile_ratio(row, [*row[1:], np.ones(0)], 0.5)
    with pytest.raises(UnusableData):
        quantile_ratio(row, [*row[1:], np.array([math.nan])], 0.5)
    with pytest.raises(ValueError, match="quantile"):
        quantile_ratio(row, row, 1.5)


@pytest.mark.alone
def test_a_million_calls_are_resampled_quickly() -> None:
    rng = np.random.default_rng(7)
    a, b = rng.lognormal(0, 0.2, (2, 20, 25_000))
    began = time.process_time()
    quantile_ratio(list(a), list(b), 0.99, resamples=1000)
    assert time.process_time() - began < 2
