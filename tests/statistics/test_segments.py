"""How often a level that did not move is said to have moved, and how often one that did is found."""

import itertools
import math

import numpy as np
import pytest
import scipy
from numpy.typing import NDArray

from levelfield.statistics.arrays import Floats
from levelfield.statistics.segments import LEAST, change_points, has_shifted, is_straight, noise_scale, theil_sen


def _cost(values: NDArray[np.float64], starts: tuple[int, ...], price: float) -> float:
    pieces = itertools.pairwise([*starts, values.size])
    return sum(float(((values[a:b] - values[a:b].mean()) ** 2).sum()) + price for a, b in pieces)


@pytest.mark.parametrize("seed", range(8))
def test_it_is_the_best_of_all_segmentations(seed: int) -> None:
    rng = np.random.default_rng(seed)
    values = rng.standard_normal(9) + np.where(np.arange(9) < rng.integers(1, 9), 4.0, 0.0)
    price = 3 * noise_scale(values) ** 2 * np.log(9)
    every = [(0, *cuts) for k in range(9) for cuts in itertools.combinations(range(1, 9), k)]
    best = min(_cost(values, starts, price) for starts in every)
    assert _cost(values, tuple(change_points(values)), price) == pytest.approx(best)


def test_noise_alone_has_hardly_any_change_points() -> None:
    rng = np.random.default_rng(2)
    assert np.mean([len(change_points(rng.standard_normal(100))) > 1 for _ in range(200)]) <= 0.05


@pytest.mark.parametrize("n", [2, 3, 6, 7, 30, 199])
def test_the_line_is_that_of_scipy(n: int) -> None:
    values = np.random.default_rng(n).standard_normal(n)
    for each in (values, values.round(1), np.full(n, 3.0)):
        expected = scipy.stats.theilslopes(each, np.arange(n))
        assert theil_sen(each) == (float(expected.slope), float(expected.intercept))


def test_a_climb_is_straight_and_a_step_is_not() -> None:
    noise = 0.1 * np.random.default_rng(5).standard_normal(100)
    climb = noise + np.arange(100) / 50
    step = noise + np.where(np.arange(100) < 40, 1.0, 0.0)
    assert is_straight(climb, change_points(climb))
    assert not is_straight(step, change_points(step))
    climb[::30] += 5
    assert is_straight(climb, change_points(climb))


SERIES = 1500


def correlated(rng: np.random.Generator, count: int, correlation: float, *, heavy: bool) -> Floats:
    """Return AR(1) noise of standard deviation 1: normal, or Student's t with three degrees of freedom."""
    drawn = rng.standard_t(3, count) / math.sqrt(3) if heavy else rng.normal(size=count)
    noise = np.empty(count)
    noise[0] = drawn[0]
    for place in range(1, count):
        noise[place] = correlation * noise[place - 1] + math.sqrt(1 - correlation**2) * drawn[place]
    return noise


@pytest.mark.sampled(1)
@pytest.mark.parametrize(("correlation", "allowed"), [(0.0, 0.01), (0.3, 0.02), (0.6, 0.04)])
def test_a_level_that_does_not_move_is_rarely_said_to_have(correlation: float, allowed: float) -> None:
    rng = np.random.default_rng(1)
    for count, heavy in itertools.product((LEAST, 30, 60), (False, True)):
        moved = sum(has_shifted(0.1 * correlated(rng, count, correlation, heavy=heavy)) for _ in range(SERIES))
        # Three standard errors of a simulated share above what the docstring says.
        assert moved / SERIES <= allowed + 3 * math.sqrt(allowed * (1 - allowed) / SERIES)


@pytest.mark.parametrize(("step", "least"), [(0.15, 0.55), (0.30, 0.97)])
def test_a_step_is_found(step: float, least: float) -> None:
    rng = np.random.default_rng(2)
    stepped = np.where(np.arange(LEAST) >= LEAST // 2, step, 0.0)
    found = [has_shifted(0.04 * correlated(rng, LEAST, 0.3, heavy=False) + stepped) for _ in range(400)]
    assert np.mean(found) > least
