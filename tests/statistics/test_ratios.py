import math

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import ttest_1samp

from levelfield.statistics.levels import levels_of_windows
from levelfield.statistics.ratios import level_interval, ratio_interval
from levelfield.statistics.student import EndedBy
from tests.statistics.rates import check_rate


def _blocks(
    experiments: int, *, generations: int = 5, rounds: int = 6, arms: int = 2, seed: int = 3
) -> NDArray[np.float64]:
    """Log windows (experiments · generations, rounds, arms) as measured on a shared machine: see FACTS of the design.

    Launches differ by 1 %, rounds drift by 4 % together, windows have Student's t3 noise and one spike in ten.
    """
    rng = np.random.default_rng(seed)
    shape = (experiments * generations, rounds, arms)
    launch = 0.01 * rng.standard_normal((shape[0], 1, arms))
    drift = 0.044 * rng.standard_normal((shape[0], rounds, 1)) + 0.05 * rng.standard_normal((shape[0], 1, 1))
    window = 0.015 * rng.standard_t(3, shape)
    spikes = np.where(rng.random(shape) < 0.1, rng.lognormal(-2, 0.8, shape), 0)
    return launch + drift + window + spikes


@pytest.mark.parametrize(("confidence", "least", "most"), [(0.95, 0.93, 0.97), (0.99, 0.98, 0.997)])
@pytest.mark.parametrize("launches", [5, 10])
def test_ratio_intervals_cover_the_truth(confidence: float, least: float, most: float, launches: int) -> None:
    experiments = 4000
    levels = levels_of_windows(_blocks(experiments, generations=launches)).reshape(experiments, launches, 2)
    covered = 0
    for block in levels:
        found = ratio_interval(block[:, 0], block[:, 1], confidence=confidence)
        covered += found.low <= 1 <= found.high
    assert least <= covered / experiments <= most


def test_drift_of_one_arm_from_launch_to_launch_is_not_covered() -> None:
    """Successive launches of an arm that are alike: what a t interval over launches cannot see (docs/method.md)."""
    rng = np.random.default_rng(8)
    innovations = rng.standard_normal((4000, 5)) * math.sqrt(1 - 0.8**2)
    series = np.empty((4000, 5))
    series[:, 0] = rng.standard_normal(4000)
    for launch in range(1, 5):
        series[:, launch] = 0.8 * series[:, launch - 1] + innovations[:, launch]
    covered = np.mean(
        [found.low <= 1 <= found.high for found in (ratio_interval(0.01 * row, np.zeros(5)) for row in series)]
    )
    assert 0.5 < covered < 0.8


def test_false_alarms_on_identical_arms_are_as_frequent_as_alpha_says() -> None:
    levels = levels_of_windows(_blocks(4000, seed=11)).reshape(4000, 5, 2)
    p = np.array([ratio_interval(block[:, 0], block[:, 1]).mean.p_value for block in levels])
    for alpha in (0.01, 0.05, 0.2):
        check_rate(int((p < alpha).sum()), p.size, 0.7 * alpha, alpha)  # heavy tails make them somewhat rarer


def test_level_intervals_cover_the_truth_at_five_launches() -> None:
    launches = 0.05 * np.random.default_rng(5).standard_t(3, (3000, 5))
    found = [level_interval(row + math.log(250.0)) for row in launches]
    assert 0.93 <= np.mean([interval.low <= 250.0 <= interval.high for interval in found]) <= 0.97


def test_missing_launches_are_left_out_in_pairs() -> None:
    a = np.array([0.0, 0.1, np.nan, 0.3, 0.4, 0.5, 0.6])
    found = ratio_interval(a, np.array([0.0, 0.1, 0.2, 0.3, np.nan, 0.51, 0.6]))
    assert found.mean.launches == 5
    assert found.ratio == pytest.approx(math.exp(-0.01 / 5))


def test_zero_variance_gives_an_interval_of_no_width() -> None:
    level = math.log(0.1)
    same = ratio_interval(np.full(5, level), np.full(5, level))
    assert (same.low, same.ratio, same.high, same.mean.p_value) == (1.0, 1.0, 1.0, 1.0)
    slower = ratio_interval(np.full(5, level + 0.1), np.full(5, level))
    assert slower.low == slower.high == slower.ratio == pytest.approx(math.exp(0.1))
    assert slower.mean.p_value == 0.0


def test_a_sequential_interval_is_wider_once_precision_can_have_ended_the_run() -> None:
    a = np.array([0.0, 0.01, 0.02, 0.01, 0.0, 0.01, 0.0, 0.02, 0.01, 0.01])
    plain, widened = ttest_1samp(a, 0.0), ratio_interval(a, np.zeros(10), ended=EndedBy.PRECISION)
    low, high = plain.confidence_interval(0.95)
    assert widened.mean.half_width(0.95) == pytest.approx((high - low) / 2 * 1.05)
    assert widened.mean.p_value > plain.pvalue
    five = ratio_interval(a[:5], np.zeros(5), ended=EndedBy.PRECISION)
    assert five.mean.half_width(0.95) == ratio_interval(a[:5], np.zeros(5)).mean.half_width(0.95)
