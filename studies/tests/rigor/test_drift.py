"""Drift between two frameworks, on streams whose drift is known."""

import dataclasses

import numpy as np
import pytest

from studies.rigor.drift import between, implied_coverage
from studies.rigor.rules import newest
from studies.rigor.table import Table
from studies.tests.rigor.streams import Machine, table
from suite.statistics.ratios import ratio_interval

FROZEN = newest()[1]


def drifting(coefficient: float, sd: float, *, generations: int = 400, seed: int = 3) -> Table:
    """A stream of eight arms, of which the first four share a drift that the others do not have."""
    seen = table(Machine(rounds=0.04, walk=0.02), generations=generations, rounds=3, arms=8, seed=seed)
    seen.median_ns[:, :, :4] *= np.exp(sd * ar1(coefficient, generations, seed))[:, None, None]
    return seen


def ar1(coefficient: float, count: int, seed: int) -> np.ndarray:
    draw = np.random.default_rng(seed)
    series = draw.standard_normal(count)
    for place in range(1, count):
        series[place] = coefficient * series[place - 1] + np.sqrt(1 - coefficient**2) * series[place]
    return series


def test_frameworks_that_do_not_drift_show_no_autocorrelation() -> None:
    found = between(drifting(0.0, 0.0), FROZEN)
    assert found is not None
    assert max(map(abs, found.averaged)) < 2 * found.reach
    assert max(map(abs, found.single)) < found.reach
    for each in found.coverages:
        assert each.implied == pytest.approx(each.confidence, abs=0.03)
        assert each.held / each.intervals == pytest.approx(each.confidence, abs=0.04)


def test_a_drift_of_one_framework_is_seen_and_its_cost_reported() -> None:
    """The drift's own autocorrelation is 0.8; launches and windows that differ make that of levels smaller.

    A level has √(0.7² + 2.0² / 3) = 1.35 % of its own: of the drift's, means of four keep the share 4 / (4 + 0.9),
    and single pairs 4 / (4 + 3.6).
    """
    found = between(drifting(0.8, 0.02), FROZEN)
    assert found is not None
    assert found.averaged[0] == pytest.approx(0.8 * 4 / 4.9, abs=0.12)
    assert found.averaged[0] > found.averaged[1] > found.averaged[2] > found.reach
    assert found.single[0] == pytest.approx(0.8 * 4 / 7.6, abs=0.12)
    five = next(each for each in found.coverages if (each.launches, each.confidence) == (5, 0.95))
    assert five.implied < 0.85
    assert five.implied_least <= five.implied
    assert five.held / five.intervals == pytest.approx(five.implied, abs=0.08)


def test_the_implied_coverage_is_that_of_the_interval_itself() -> None:
    series = np.array([ar1(0.8, 5, seed) for seed in range(4000)])
    counted = np.mean(
        [each.low <= 1 <= each.high for each in (ratio_interval(0.01 * row, np.zeros(5)) for row in series)]
    )
    assert implied_coverage([0.8**lag for lag in range(1, 5)], 5, 0.95) == pytest.approx(counted, abs=0.025)
    assert implied_coverage([0.0] * 4, 5, 0.95) == pytest.approx(0.95, abs=0.005)
    assert implied_coverage([0.0] * 4, 5, 0.99) == pytest.approx(0.99, abs=0.003)


def test_autocorrelations_that_no_series_has_are_brought_to_the_nearest() -> None:
    assert 0 < implied_coverage([0.9, -0.9, 0.9, -0.9], 5, 0.95) < 1


def test_a_short_stream_says_nothing_of_drift() -> None:
    assert between(drifting(0.8, 0.02, generations=12), FROZEN) is None


def test_disturbed_windows_are_left_out() -> None:
    seen = drifting(0.0, 0.0, generations=60)
    seen.median_ns[7, 1, 2:4] *= 5
    marks = seen.disturbed.copy()
    marks[7, 1, 1] = True
    plain, marked = between(seen, FROZEN), between(dataclasses.replace(seen, disturbed=marks), FROZEN)
    assert plain is not None
    assert marked is not None
    assert marked.pair_sd <= plain.pair_sd
