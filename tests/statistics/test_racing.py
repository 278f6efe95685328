"""Races: who leaves, and that ranks and intervals hold all the same, by simulation."""

import math
from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray

from suite.statistics import ranking
from suite.statistics.ending import EndedBy
from suite.statistics.racing import LOOKS_SHARE, leaving, unlikely
from suite.statistics.student import MIN_LAUNCHES

Floats = NDArray[np.float64]
SPREADS = np.array([0.02, 0.03, 0.02, 0.04, 0.03, 0.02])
TARGET = 0.02


def normal(rng: np.random.Generator, shape: int) -> Floats:
    return rng.standard_normal(shape)


def heavy(rng: np.random.Generator, shape: int) -> Floats:
    return rng.standard_t(3, shape) / math.sqrt(3)


def race(
    truth: Floats,
    rng: np.random.Generator,
    noise: Callable[[np.random.Generator, int], Floats],
    most: int,
    pauses: tuple[int, ...] = (1,) * SPREADS.size,
) -> tuple[list[ranking.ArmRank], set[int]]:
    """Run one race to its end: arms that are in get one launch more, until all leads are precise.

    After the first launches an arm is launched in one of `pauses` generations, as its cost says, and in one of four if
    it is probably neither first nor second.
    """
    arms = truth.size
    levels, racing = np.full((most, arms), np.nan), set(range(arms))
    narrow = 0
    for launches in range(1, most + 1):
        drawn = truth + SPREADS * noise(rng, arms)
        rare = unlikely(levels[: launches - 1], racing) if launches > MIN_LAUNCHES else frozenset()
        after = launches - MIN_LAUNCHES
        launched = [arm for arm in racing if after <= 0 or after % (4 if arm in rare else pauses[arm]) == 0]
        levels[launches - 1, launched] = drawn[launched]
        if launches < MIN_LAUNCHES:
            continue
        racing -= set(leaving(levels[:launches], racing))
        places = ranking.rank(levels[:launches], ended=EndedBy.RACE, left=set(range(arms)) - racing)
        width = max(math.log((each.high or 1) / (each.ratio or 1)) for each in places if each.arm in racing)
        narrow = narrow + 1 if width <= TARGET else 0
        if narrow > 1:
            break
    return places, set(range(arms)) - racing


@pytest.mark.sampled(1)
@pytest.mark.parametrize("noise", [normal, heavy])
@pytest.mark.parametrize("pauses", [(1,) * 6, (1, 3, 1, 1, 2, 4)])
@pytest.mark.parametrize("truth", [(0,) * 6, (0, 0, 0.03, 0.03, 0.1, 0.3), (0, 0.02, 0.05, 0.1, 0.1, 0.5)])
def test_ranks_and_intervals_hold(
    truth: tuple[float, ...], pauses: tuple[int, ...], noise: Callable[..., Floats]
) -> None:
    """With 120 races, a true rate of 5 % gives 15 or more in one of a thousand."""
    rng, times = np.random.default_rng(7), np.asarray(truth, dtype=np.float64)
    wrong = missed = 0
    for _ in range(120):
        places, _ = race(times, rng, noise, 30, pauses)
        wrong += any(times[fast] >= times[place.arm] for place in places for fast in place.behind)
        missed += any(
            not (place.low or 1) - 1e-9 <= math.exp(times[place.arm] - times.min()) <= (place.high or 1) + 1e-9
            for place in places
        )
    assert wrong < 15
    assert missed < 15


def test_who_is_far_behind_leaves_and_the_first_two_never_do() -> None:
    rng = np.random.default_rng(3)
    truth = np.array([0.0, 0.1, 0.3, 0.6, 1.0, 1.0])
    for _ in range(50):
        _, left = race(truth, rng, normal, most=30)
        assert {0, 1}.isdisjoint(left)
        assert {3, 4, 5} <= left


def test_the_two_fastest_are_never_launched_less_often() -> None:
    rng = np.random.default_rng(11)
    truth = np.array([0.0, 0.02, 0.06, 0.08, 0.3, 0.0])
    rare: list[int] = []
    for _ in range(50):
        levels = truth + SPREADS * rng.standard_normal((6, 6))
        found = unlikely(levels, set(range(6)))
        assert set(np.argsort(levels.mean(axis=0))[:2]).isdisjoint(found)
        rare += found
    assert rare.count(4) == 50
    assert unlikely(levels[: MIN_LAUNCHES - 1], set(range(6))) == frozenset()


def test_two_arms_race_to_the_end() -> None:
    levels = np.array([[0.0, 1.0]] * 30) + 0.01 * np.random.default_rng(1).standard_normal((30, 2))
    assert leaving(levels, {0, 1}) == {}


def test_nobody_leaves_before_a_rank_could_be_given() -> None:
    levels = np.tile([0.0, 1.0, 2.0], (MIN_LAUNCHES, 1)) + 1e-3 * np.random.default_rng(1).standard_normal((5, 3))
    assert leaving(levels[:-1], {0, 1, 2}) == {}
    assert leaving(levels, {0, 1, 2}) == {2: (0, 1)}


def test_arms_that_left_count_for_nobody() -> None:
    levels = np.tile([0.0, 1.0, 2.0], (8, 1)) + 1e-3 * np.random.default_rng(1).standard_normal((8, 3))
    assert leaving(levels, {1, 2}) == {}


def test_a_pair_that_none_has_left_keeps_most_of_the_level() -> None:
    levels = 0.01 * np.random.default_rng(5).standard_normal((12, 2))
    by_plan, raced = (
        {place.arm: place for place in ranking.rank(levels, ended=ended)} for ended in (EndedBy.PRECISION, EndedBy.RACE)
    )
    slow = max(raced, key=lambda arm: raced[arm].ratio or 0)
    planned, wider = (math.log((each[slow].high or 1) / (each[slow].ratio or 1)) for each in (by_plan, raced))
    assert 1 < wider / planned < 1 + LOOKS_SHARE / 2
