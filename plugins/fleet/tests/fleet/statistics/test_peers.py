"""The median and the spread of all the others."""

import itertools

import numpy as np
import pytest

from levelfield_fleet.statistics.peers import DISTANCE, of_the_others, spread_between


@pytest.mark.parametrize("n", [3, 4, 5, 6, 7, 8, 13, 20, 33])
def test_each_value_is_left_out(n: int) -> None:
    rng = np.random.default_rng(n)
    for values in (rng.standard_normal(n), rng.integers(0, 3, n).astype(float), np.ones(n)):
        centre, spread = of_the_others(values)
        for place in range(n):
            others = np.delete(values, place)
            distances = sorted(abs(a - b) for a, b in itertools.combinations(others, 2))
            assert centre[place] == pytest.approx(np.median(others))
            assert spread[place] == pytest.approx(distances[len(distances) // 2] / DISTANCE)
            assert spread[place] == pytest.approx(spread_between(others))


def test_of_one_peer_there_is_a_centre_and_no_spread() -> None:
    centre, spread = of_the_others(np.array([1.0, 3.0]))
    assert centre.tolist() == [3.0, 1.0]
    assert np.isnan(spread).all()
    assert np.isnan(spread_between(np.array([1.0])))


def test_the_spread_of_normal_noise_is_its_standard_deviation() -> None:
    values = 0.02 * np.random.default_rng(1).standard_normal(1500)
    assert spread_between(values) == pytest.approx(0.02, rel=0.06)


@pytest.mark.parametrize(("off", "stands"), [(0.1, True), (0.2, True), (0.28, True), (0.31, False)])
def test_it_stands_while_less_than_29_percent_are_off(off: float, stands: bool) -> None:
    values = np.random.default_rng(2).standard_normal(200)
    values[: int(200 * off)] += 1e6 * np.arange(1, int(200 * off) + 1)
    assert (spread_between(values) < 5) == stands
