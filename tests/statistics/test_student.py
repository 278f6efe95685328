"""Coverage under the tool's own stopping rule, simulated; the rule itself is in test_stopping.py."""

import functools
import math

import numpy as np
import pytest
from numpy.typing import NDArray

from suite.statistics.ending import EndedBy
from suite.statistics.student import FIRST_LOOK, MIN_LAUNCHES, half_width, launches_for, spread_of, two_sided_p

MOST = 80
EXPERIMENTS = 20_000


@functools.cache
def _launches(noise: str) -> NDArray[np.float64]:
    """Log ratios, shape (experiments, generations), with standard deviation about 1 and mean 0."""
    rng = np.random.default_rng(2024)
    shape = (EXPERIMENTS, MOST)
    if noise == "t3":
        return rng.standard_t(3, shape) / math.sqrt(3)
    values = rng.standard_normal(shape)
    if noise == "spikes":  # one launch in ten is far off, in either arm
        for sign in (1, -1):
            values += sign * np.where(rng.random(shape) < 0.1, rng.lognormal(1, 0.7, shape), 0)
        values /= 2
    return values


def _covered(noise: str, target: float, *, ended: EndedBy = EndedBy.PRECISION) -> float:
    """Share of experiments whose interval holds the truth (0), stopped as `stopping.decide` stops."""
    values = _launches(noise)
    n = np.arange(MIN_LAUNCHES, MOST + 1)
    means = values.cumsum(axis=1)[:, MIN_LAUNCHES - 1 :] / n
    spreads = np.sqrt(((values**2).cumsum(axis=1)[:, MIN_LAUNCHES - 1 :] - n * means**2) / (n - 1))
    unit = np.array([half_width(1.0, int(k), confidence=0.95, ended=ended) for k in n])
    widths = unit * spreads
    narrow = widths <= target
    stops = narrow[:, 1:] & narrow[:, :-1]  # at this boundary and at the one before
    at = np.where(stops.any(axis=1), stops.argmax(axis=1) + 1, n.size - 1)
    rows = np.arange(EXPERIMENTS)
    return float((np.abs(means[rows, at]) <= widths[rows, at]).mean())


@pytest.mark.parametrize("noise", ["normal", "t3", "spikes"])
@pytest.mark.parametrize("target", [3.0, 1.5, 1.0, 0.7, 0.5, 0.4, 0.3, 0.01])
def test_intervals_cover_what_they_say_when_precision_ends_the_run(noise: str, target: float) -> None:
    assert 0.93 <= _covered(noise, target) <= 0.9725  # 0.97, and the simulation's own error


def _false_verdicts(noise: str, alpha: float) -> float:
    """Share of experiments in which a look after any launch from the fourth on rejects the truth (0)."""
    values = _launches(noise)
    n = np.arange(FIRST_LOOK, MOST + 1)
    means = values.cumsum(axis=1)[:, FIRST_LOOK - 1 :] / n
    spreads = np.sqrt(((values**2).cumsum(axis=1)[:, FIRST_LOOK - 1 :] - n * means**2) / (n - 1))
    unit = np.array([half_width(1.0, int(k), confidence=1 - alpha, ended=EndedBy.VERDICT) for k in n])
    return float((np.abs(means) > unit * spreads).any(axis=1).mean())


@pytest.mark.parametrize("noise", ["normal", "t3", "spikes"])
@pytest.mark.parametrize("alpha", [0.05, 0.01, 0.002])
def test_looks_after_every_launch_together_keep_the_level(noise: str, alpha: float) -> None:
    allowed = alpha + 3 * math.sqrt(alpha / EXPERIMENTS)
    assert _false_verdicts(noise, alpha) <= allowed


def test_the_level_of_looks_is_not_given_away() -> None:
    assert _false_verdicts("normal", 0.05) >= 0.5 * 0.05


def test_without_dividing_the_level_looks_find_what_is_not_there() -> None:
    values = _launches("normal")[:, :MOST]
    n = np.arange(FIRST_LOOK, MOST + 1)
    means = values.cumsum(axis=1)[:, FIRST_LOOK - 1 :] / n
    spreads = np.sqrt(((values**2).cumsum(axis=1)[:, FIRST_LOOK - 1 :] - n * means**2) / (n - 1))
    unit = np.array([half_width(1.0, int(k), confidence=0.99) for k in n])
    assert (np.abs(means) > unit * spreads).any(axis=1).mean() > 0.05  # five times the level


def test_without_the_widening_the_same_rule_covers_too_little() -> None:
    plain = min(_covered("normal", target, ended=EndedBy.PLAN) for target in (0.6, 0.5, 0.4))
    assert plain < 0.93  # so the correction is needed, and the simulation can see it


@pytest.mark.parametrize("launches", [5, 8, 40])
def test_fixed_numbers_of_launches_cover_the_nominal_share(launches: int) -> None:
    values = np.random.default_rng(7).standard_normal((20_000, launches))
    widths = half_width(1.0, launches, confidence=0.95) * values.std(axis=1, ddof=1)
    assert (np.abs(values.mean(axis=1)) <= widths).mean() == pytest.approx(0.95, abs=0.006)


@pytest.mark.parametrize("ended", EndedBy)
def test_p_value_and_interval_agree(ended: EndedBy) -> None:
    for mean in (0.001, 0.01, 0.02, 0.03):
        width = half_width(0.02, 6, confidence=0.95, ended=ended)
        p = two_sided_p(mean, 0.02 / math.sqrt(6), 6, ended=ended)
        assert (p < 0.05) == (mean > width)


def test_zero_spread_has_p_value_one_or_zero() -> None:
    assert two_sided_p(0.0, 0.0, 5) == 1.0
    assert two_sided_p(0.01, 0.0, 5) == 0.0


def test_launches_for_is_the_fewest_that_do() -> None:
    needed = launches_for(0.03, 0.01, confidence=0.95)
    assert needed is not None
    assert half_width(0.03, needed, confidence=0.95) <= 0.01 < half_width(0.03, needed - 1, confidence=0.95)


def test_launches_for_never_asks_for_fewer_than_an_interval_needs() -> None:
    assert launches_for(1e-9, 0.01, confidence=0.95) == MIN_LAUNCHES
    assert launches_for(0.0, 0.01, confidence=0.95) == MIN_LAUNCHES


@pytest.mark.parametrize("target", [0.0, -1.0, 1e-9])
def test_launches_for_says_never(target: float) -> None:
    assert launches_for(1.0, target, confidence=0.95) is None


def test_equal_values_have_no_spread_in_spite_of_rounding() -> None:
    assert spread_of(np.full(7, math.log(0.1))) == 0.0
    assert spread_of(np.array([1.0, 1.0, 1.001])) > 0
