import math

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.signal import lfilter

from suite.statistics.noise import ALPHA_TREND, LEAST_TREND, Noise, trend_of


def _moods(n: int, correlation: float, rng: np.random.Generator) -> NDArray[np.float64]:
    found: NDArray[np.float64] = lfilter([1], [1, -correlation], rng.standard_normal(n + 100))[100:]
    return 0.02 * found


@pytest.mark.sampled(1)
@pytest.mark.parametrize("n", [LEAST_TREND, 10, 40])
def test_white_noise_has_a_trend_at_most_as_often_as_alpha(n: int) -> None:
    rng = np.random.default_rng(0)
    streams = 0.05 * rng.standard_normal((1500, n))
    alarms = np.mean([trend_of(values, 1.0, 0.0) != 0 for values in streams])
    assert alarms <= ALPHA_TREND + 2 * math.sqrt(ALPHA_TREND * (1 - ALPHA_TREND) / 1500)


def test_moods_are_not_taken_for_trends_when_their_correlation_is_known() -> None:
    rng = np.random.default_rng(1)
    streams = [_moods(60, 0.6, rng) for _ in range(400)]
    blind = np.mean([trend_of(values, 1.0, 0.0) != 0 for values in streams])
    aware = np.mean([trend_of(values, (1 + 0.6) / (1 - 0.6), 0.0) != 0 for values in streams])
    assert aware <= 0.025 < blind


def test_a_trend_is_its_change_over_the_whole_series_and_a_small_one_does_not_matter() -> None:
    climb = np.linspace(0, 0.1, 30)
    assert trend_of(climb, 1.0, 0.01) == pytest.approx(0.1)
    assert trend_of(-climb, 1.0, 0.01) == pytest.approx(-0.1)
    assert trend_of(climb, 1.0, 0.2) == 0
    assert trend_of(climb[: LEAST_TREND - 1], 1.0, 0.0) == 0


@pytest.mark.parametrize("correlation", [0.0, 0.4, 0.7])
def test_the_correlation_time_is_found_again(correlation: float) -> None:
    rng = np.random.default_rng(2)
    found = np.mean([Noise(_moods(200, correlation, rng)).correlation_time for _ in range(60)])
    assert found == pytest.approx((1 + correlation) / (1 - correlation), rel=0.2)


def test_neither_a_trend_nor_spikes_widen_the_noise() -> None:
    rng = np.random.default_rng(3)
    values = 0.02 * rng.standard_normal(100) + np.linspace(0, 1, 100)
    values[::10] += 3
    assert Noise(values).spread == pytest.approx(0.02, rel=0.35)


def test_a_handful_of_values_allows_more() -> None:
    rng = np.random.default_rng(4)
    few = np.mean([Noise(rng.standard_normal(5)).allows(1, 0.005) for _ in range(200)])
    many = np.mean([Noise(rng.standard_normal(100)).allows(1, 0.005) for _ in range(50)])
    assert few > 1.5 * many
