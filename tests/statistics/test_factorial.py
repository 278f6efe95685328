"""Contrasts of 2^k designs, exact and simulated: coverage, false verdicts, power, and pure interactions."""

import itertools
import math

import numpy as np
import pytest
from numpy.typing import NDArray

from suite.statistics.ending import EndedBy
from suite.statistics.errors import InsufficientData
from suite.statistics.factorial import combinations, contrasts, factorial_effects
from suite.statistics.multiple import benjamini_hochberg
from tests.statistics.rates import check_rate

EXPERIMENTS = 3_000
GENERATIONS = 10
SD = 0.01


def _levels(rng: np.random.Generator, truth: list[float], generations: int = GENERATIONS) -> NDArray[np.float64]:
    """Log levels of one experiment: the truth, the mood of each generation (20 %), and each launch's own noise."""
    shape = (generations, len(truth))
    return np.array(truth) + rng.normal(0, 0.2, (generations, 1)) + rng.normal(0, SD, shape)


def _found(levels: NDArray[np.float64], axes: int) -> set[tuple[int, ...]]:
    effects = factorial_effects(levels, axes=axes)
    p = [e.mean.p_value for e in effects]
    return {e.axes for e, found in zip(effects, benjamini_hochberg(p).found, strict=True) if found}


@pytest.mark.parametrize("axes", [2, 3])
def test_weights_sum_to_zero_and_are_orthogonal(axes: int) -> None:
    weights = list(contrasts(axes).values())
    assert len(weights) == 2**axes - 1
    assert all(weight.sum() == 0 for weight in weights)
    assert all(first @ second == 0 for first, second in itertools.combinations(weights, 2))


def test_effects_are_the_ratios_that_they_are_said_to_be() -> None:
    costs: dict[tuple[int, ...], float] = {(0, 0): 1.0, (0, 1): 2.0, (1, 0): 3.0, (1, 1): 30.0}
    levels = np.log([[costs[cell] for cell in combinations(2)]] * 5)
    ratios = {e.axes: math.exp(e.mean.value) for e in factorial_effects(levels, axes=2)}
    assert ratios[0,] == pytest.approx(math.sqrt(3 / 1 * 30 / 2))
    assert ratios[1,] == pytest.approx(math.sqrt(2 / 1 * 30 / 3))
    assert ratios[0, 1] == pytest.approx((30 / 2) / (3 / 1))


def test_of_three_axes_an_interaction_of_two_is_averaged_over_the_third() -> None:
    truth = [0.05 * a + 0.03 * a * b for a, b, _ in combinations(3)]
    logs = {e.axes: e.mean.value for e in factorial_effects([truth] * 5, axes=3)}
    assert list(logs) == [(0,), (1,), (2,), (0, 1), (0, 2), (1, 2), (0, 1, 2)]
    assert list(logs.values()) == pytest.approx([0.065, 0.015, 0, 0.03, 0, 0, 0], abs=1e-12)


@pytest.mark.parametrize("axes", [2, 3])
def test_intervals_cover_and_nothing_is_found_where_nothing_differs(axes: int) -> None:
    rng = np.random.default_rng(7)
    missed = np.zeros(2**axes - 1, dtype=int)
    wrong = 0
    for _ in range(EXPERIMENTS):
        levels = _levels(rng, [0.0] * 2**axes)
        effects = factorial_effects(levels, axes=axes)
        missed += [abs(e.mean.value) > e.mean.half_width(0.95) for e in effects]
        wrong += bool(_found(levels, axes))
    for each in missed:
        check_rate(int(each), EXPERIMENTS, 0.05)
    check_rate(wrong, EXPERIMENTS, 0.01, 0.014)  # trimmed intervals of normal noise cover 98.8 to 99 %


def test_a_main_effect_is_found_and_little_else() -> None:
    rng = np.random.default_rng(8)
    found = [_found(_levels(rng, [0.05 * a for a, _ in combinations(2)]), 2) for _ in range(EXPERIMENTS)]
    assert sum((0,) in one for one in found) / EXPERIMENTS > 0.99
    assert sum(len(one) > 1 for one in found) / EXPERIMENTS <= 0.03


def test_a_pure_interaction_is_not_called_a_main_effect() -> None:
    rng = np.random.default_rng(9)
    truth = [0.05 * (1 if a == b else -1) for a, b in combinations(2)]
    found = [_found(_levels(rng, truth), 2) for _ in range(EXPERIMENTS)]
    assert sum((0, 1) in one for one in found) / EXPERIMENTS > 0.99
    assert sum(len(one) > 1 for one in found) / EXPERIMENTS <= 0.03


def test_a_generation_that_lacks_a_level_counts_for_no_effect() -> None:
    levels = _levels(np.random.default_rng(1), [0.0] * 4, 6)
    levels[2, 3] = np.nan
    assert {e.mean.launches for e in factorial_effects(levels, axes=2)} == {5}


def test_too_few_complete_generations_are_refused() -> None:
    with pytest.raises(InsufficientData, match="3 generations"):
        factorial_effects(np.zeros((3, 4)), axes=2, ended=EndedBy.VERDICT)


@pytest.mark.parametrize("axes", [1, 4])
def test_only_two_or_three_axes(axes: int) -> None:
    with pytest.raises(ValueError, match="2 or 3 axes"):
        combinations(axes)


def test_the_number_of_columns_is_checked() -> None:
    with pytest.raises(ValueError, match="4 combinations"):
        factorial_effects(np.zeros((5, 3)), axes=2)
