import math

import msgspec
import numpy as np
import pytest
from numpy.typing import NDArray

from levelfield.statistics.power import (
    Design,
    VarianceSplit,
    minimum_detectable_effect,
    optimal_rounds,
    pair_sd,
    power,
    split_variance,
)
from levelfield.statistics.student import EndedBy, mean_of

DESIGN = Design(launches=6, rounds=8, launch_sd=0.007, window_sd=0.024)


def _split(launch: float, window: float) -> VarianceSplit:
    return VarianceSplit(launch_sd=launch, window_sd=window, round_sd=0.04, generations=5, rounds=40, arms=2)


@pytest.mark.parametrize("launches", [6, 8, 12])
@pytest.mark.parametrize("effect", [0.01, 0.02, 0.04])
def test_power_is_what_simulation_gives(effect: float, launches: int) -> None:
    rng = np.random.default_rng(1)
    values = math.log1p(effect) + pair_sd(0.007, 0.024, 8) * rng.standard_normal((5000, launches))
    means = [mean_of(each) for each in values]
    found = np.mean([each.value > each.half_width(0.95) for each in means])
    assert found == pytest.approx(power(effect, msgspec.structs.replace(DESIGN, launches=launches)), abs=0.025)


def test_the_minimum_detectable_effect_is_found_with_the_asked_probability() -> None:
    effect = minimum_detectable_effect(DESIGN, alpha=0.01, probability=0.9)
    assert power(effect, DESIGN, alpha=0.01) == pytest.approx(0.9, abs=0.001)
    assert minimum_detectable_effect(DESIGN, alpha=0.01, probability=0.9, ended=EndedBy.PRECISION) > effect


def test_optimal_rounds_spend_time_best() -> None:
    split = _split(0.007, 0.024)
    best = optimal_rounds(split, launch_seconds=3.0, window_seconds=0.3)

    def variance_per_second(rounds: int) -> float:
        return pair_sd(0.007, 0.024, rounds) ** 2 * (3.0 + rounds * 0.3)

    assert best == 11
    assert min(range(1, 60), key=variance_per_second) in (best - 1, best)


def _windows(
    generations: int, rounds: int, arms: int, *, launch: float, window: float, drift: float, seed: int = 0
) -> NDArray[np.float64]:
    rng = np.random.default_rng(seed)
    return (
        np.arange(arms) * 0.3
        + rng.normal(0, 0.1, (generations, 1, 1))
        + launch * rng.standard_normal((generations, 1, arms))
        + drift * rng.standard_normal((generations, rounds, 1))
        + window * rng.standard_normal((generations, rounds, arms))
    )


def test_the_parts_are_found_again() -> None:
    split = split_variance(_windows(400, 8, 4, launch=0.007, window=0.024, drift=0.044))
    assert split.launch_sd == pytest.approx(0.007, rel=0.15)
    assert split.window_sd == pytest.approx(0.024, rel=0.03)
    assert split.round_sd == pytest.approx(0.044, rel=0.05)
    assert (split.generations, split.rounds, split.arms) == (400, 3200, 4)


def test_only_complete_rounds_count() -> None:
    windows = _windows(300, 9, 3, launch=0.01, window=0.03, drift=0.04)
    windows[::2, 6:, 1] = np.nan
    windows[0, :, 2] = np.nan
    split = split_variance(windows)
    assert (split.generations, split.rounds) == (299, 150 * 9 + 149 * 6)
    assert split.launch_sd == pytest.approx(0.01, rel=0.2)
