"""Coverage under the tool's own stopping rule, simulated; the rule itself is in test_stopping.py."""

import functools
import math

import numpy as np
import pytest
import scipy
from numpy.typing import NDArray

from levelfield.statistics.student import FIRST_LOOK, MIN_LAUNCHES, TRIMMED_FROM, EndedBy, LaunchMean, mean_of, trimmed

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


def _covered(noise: str, target: float, *, widened: bool = True) -> float:
    """Share of experiments whose interval holds the truth (0), stopped as `stopping.decide` stops."""
    values = _launches(noise)
    n = np.arange(MIN_LAUNCHES, MOST + 1)
    means = values.cumsum(axis=1)[:, MIN_LAUNCHES - 1 :] / n
    spreads = np.sqrt(((values**2).cumsum(axis=1)[:, MIN_LAUNCHES - 1 :] - n * means**2) / (n - 1))
    unit = np.array([LaunchMean(0.0, 1.0, int(k), EndedBy.PRECISION).half_width(0.95) for k in n])
    if not widened:
        unit = scipy.special.stdtrit(n - 1, 0.975) / np.sqrt(n)
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


@functools.cache
def _looks(noise: str) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.intp]]:
    """Return means and spreads after each launch from the first look on, as `mean_of` has them, and their numbers."""
    n = np.arange(FIRST_LOOK, MOST + 1)
    means, spreads = np.empty((2, EXPERIMENTS, n.size))
    for column, launches in enumerate(n):
        ordered = np.sort(_launches(noise)[:, :launches], axis=1)
        out = trimmed(int(launches), EndedBy.VERDICT)
        kept = ordered[:, out : launches - out]
        means[:, column] = kept.mean(axis=1)
        winsorised = np.clip(ordered, kept[:, :1], kept[:, -1:])
        spreads[:, column] = winsorised.std(axis=1, ddof=1) * launches / kept.shape[1]
    return means, spreads, n


def test_looks_are_simulated_as_they_are_taken() -> None:
    means, spreads, n = _looks("t3")
    for column in (0, 4, 30):
        found = mean_of(_launches("t3")[0, : n[column]], EndedBy.VERDICT)
        assert (found.value, found.spread) == pytest.approx((means[0, column], spreads[0, column]))


def _false_verdicts(noise: str, alpha: float) -> float:
    """Share of experiments in which a look after any launch from the fourth on rejects the truth (0)."""
    means, spreads, n = _looks(noise)
    unit = np.array([LaunchMean(0.0, 1.0, int(k), EndedBy.VERDICT).half_width(1 - alpha) for k in n])
    return float((np.abs(means) > unit * spreads).any(axis=1).mean())


@pytest.mark.parametrize("noise", ["normal", "t3", "spikes"])
@pytest.mark.parametrize("alpha", [0.05, 0.01, 0.002])
def test_looks_after_every_launch_together_keep_the_level(noise: str, alpha: float) -> None:
    allowed = alpha + 3 * math.sqrt(alpha / EXPERIMENTS)
    assert _false_verdicts(noise, alpha) <= allowed


def test_without_the_widening_the_same_rule_covers_too_little() -> None:
    plain = min(_covered("normal", target, widened=False) for target in (0.6, 0.5, 0.4))
    assert plain < 0.93  # so the correction is needed, and the simulation can see it


@pytest.mark.parametrize("launches", [5, 7, 8, 10, 12, 40])
@pytest.mark.parametrize("confidence", [0.95, 0.99])
def test_fixed_numbers_of_launches_cover_the_nominal_share(launches: int, confidence: float) -> None:
    values = np.random.default_rng(7).standard_normal((8000, launches))
    means = [mean_of(each) for each in values]
    missed = np.mean([abs(each.value) > each.half_width(confidence) for each in means])
    chance = 3 * math.sqrt(confidence * (1 - confidence) / 8000)
    assert 1 - confidence - chance <= missed <= 1 - confidence + chance + 0.01 * (launches >= TRIMMED_FROM)


def test_trimmed_means_are_those_of_scipy() -> None:
    values = np.random.default_rng(3).standard_t(3, 23)
    found = mean_of(values)
    assert found.value == pytest.approx(scipy.stats.trim_mean(values, 0.1))
    winsorised = np.asarray(scipy.stats.mstats.winsorize(values, limits=(0.1, 0.1)))
    error = winsorised.std(ddof=1) / (1 - 2 * 2 / 23) / math.sqrt(23)
    assert found.standard_error == pytest.approx(error)
    half = scipy.stats.t.ppf(0.975, 23 - 4 - 1) * error
    assert found.half_width(0.95) == pytest.approx(half)
