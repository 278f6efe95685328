"""Limits from earlier runs: their false alarms and their power, simulated apart from the formulas."""

import math
from typing import Any

import numpy as np
import pytest
import scipy

from levelfield.statistics import prediction
from levelfield.statistics.prediction import NOISES, Earlier, Noise

RATE, POWER = 0.01, 0.9
SD = {"normal": 1.0, "t3": math.sqrt(3)}


def draws(noise: Noise, shape: tuple[int, ...], seed: int) -> Any:
    """Noise of standard deviation one."""
    generator = np.random.default_rng(seed)
    return (generator.standard_normal(shape) if noise == "normal" else generator.standard_t(3, shape)) / SD[noise]


def alarms(noise: Noise, earlier: int, new: int, cases: int, *, shift: float = 0.0, seed: int = 1) -> float:
    """Share of comparisons in which any case is called worse, from nothing but the rule and `factor`."""
    repeats = 100_000 if cases == 1 else 12_000
    old = draws(noise, (repeats, cases, earlier), seed)
    later = draws(noise, (repeats, cases, new), seed + 1) + shift
    limit = old.mean(axis=2) + prediction.factor(earlier, new, RATE / cases) * old.std(axis=2, ddof=1)
    return float(((later > limit[:, :, None]).sum(axis=2) > new / 2).any(axis=1).mean())


@pytest.mark.sampled(2)
@pytest.mark.parametrize("cases", [1, 40])
@pytest.mark.parametrize("new", [1, 2, 3])
@pytest.mark.parametrize("earlier", [3, 5, 10])
def test_false_alarms_are_at_the_stated_rate(earlier: int, new: int, cases: int) -> None:
    """Over all cases together, for both kinds of noise; no more cautious than one of them needs, with enough runs."""
    found = {noise: alarms(noise, earlier, new, cases) for noise in NOISES}
    assert max(found.values()) <= RATE + 3 * math.sqrt(RATE / (100_000 if cases == 1 else 12_000))
    assert max(found.values()) >= 0.7 * RATE


@pytest.mark.sampled(2)
@pytest.mark.parametrize(("earlier", "new", "cases"), [(3, 1, 1), (5, 1, 1), (10, 1, 40), (5, 2, 40), (10, 3, 40)])
def test_the_smallest_change_is_found_with_the_stated_power(earlier: int, new: int, cases: int) -> None:
    """One case is shifted; it is judged at its share of the rate."""
    size = Earlier(mean=0.0, spread=1.0, runs=earlier).finds(new, RATE / cases, POWER)
    found = []
    for noise in NOISES:
        old, later = draws(noise, (60_000, earlier), 5), draws(noise, (60_000, new), 6) + size
        limit = old.mean(axis=1) + prediction.factor(earlier, new, RATE / cases) * old.std(axis=1, ddof=1)
        found.append(float(((later > limit[:, None]).sum(axis=1) > new / 2).mean()))
    assert min(found) == pytest.approx(POWER, abs=0.012)


@pytest.mark.parametrize("earlier", [3, 5, 10, 40])
def test_normal_noise_and_one_new_run_is_student_s_prediction(earlier: int) -> None:
    exact = -scipy.special.stdtrit(earlier - 1, RATE) * math.sqrt(1 + 1 / earlier)
    assert prediction.alarm("normal", earlier, 1, exact) == pytest.approx(RATE, rel=0.04)
    assert prediction.factor(earlier, 1, RATE) >= 0.99 * exact  # heavier tails take no less


def test_the_interval_of_the_spread_covers_it() -> None:
    values = draws("normal", (4_000, 5), 3) * 0.02
    covered = [low <= 0.02 <= high for low, high in (prediction.from_runs(row).spread_interval() for row in values)]
    assert np.mean(covered) == pytest.approx(0.95, abs=0.012)


@pytest.mark.parametrize(("level", "limit"), [(1e-310, math.inf), (0.9, 0.0)])
def test_a_rate_that_no_limit_has_ends(level: float, limit: float) -> None:
    assert prediction.factor(3, 1, level) == limit
    assert prediction.Earlier(0.0, 0.1, 3).finds(1, level, 0.01) == limit
