"""Leaving windows out shifts no ratio, unless the arm really starts slowly: in all of its launches, or in some."""

import numpy as np
import pytest
from numpy.typing import NDArray

from levelfield.statistics.counting import count_windows, counted_rounds
from levelfield.statistics.levels import levels_of_windows
from levelfield.statistics.ratios import ratio_interval
from levelfield.statistics.student import MIN_LAUNCHES

Floats = NDArray[np.float64]
GENERATIONS, ROUNDS, ARMS = 7, 8, 3
EXPERIMENTS = 300


def blocks(seed: int = 5) -> tuple[np.random.Generator, Floats]:
    """Log windows (experiments, generations, rounds, arms and the canary), with the variances of a shared machine."""
    rng = np.random.default_rng(seed)
    shape = (EXPERIMENTS, GENERATIONS, ROUNDS, ARMS + 1)
    windows = 0.02 * rng.standard_normal(shape) + 0.03 * rng.standard_normal((*shape[:3], 1))
    windows += 0.01 * rng.standard_normal((EXPERIMENTS, GENERATIONS, 1, ARMS + 1))
    return rng, windows


def shift(windows: Floats) -> tuple[float, float]:
    """Return by how much leaving out moves the first arm's log ratio to the second: mean and standard error."""
    moved = []
    for block in windows:
        logs = block[:, :, :-1]
        counting = count_windows(logs, [[False] * ROUNDS] * GENERATIONS, canary=block[:, :, -1])
        levels = [levels_of_windows(each) for each in (logs, np.where(counting.windows, logs, np.nan))]
        before, after = ((each[:, 0] - each[:, 1]).mean() for each in levels)
        moved.append(after - before)
    return float(np.mean(moved)), float(np.std(moved)) / np.sqrt(len(moved))


def noisy(rng: np.random.Generator, windows: Floats) -> Floats:
    """Make one window in eight of the first arm 25 % slower."""
    found = windows.copy()
    found[..., 0] += np.where(rng.random(windows.shape[:3]) < 1 / 8, np.log(1.25), 0.0)
    return found


def contended(rng: np.random.Generator, windows: Floats) -> Floats:
    """Let stretches of rounds be contended, of which the first arm suffers more than the others."""
    suffers = np.log([1.4, *[1.15] * ARMS])
    state = rng.random(windows.shape[:2]) < 0.3
    found = windows.copy()
    for index in range(ROUNDS):
        found[:, :, index] += state[:, :, None] * suffers
        state = rng.random(state.shape) < np.where(state, 0.7, 0.13)
    return found


@pytest.mark.parametrize("world", ["equal", "noisy", "contended"])
def test_leaving_out_shifts_no_ratio_of_arms_that_do_not_start_slowly(world: str) -> None:
    rng, windows = blocks()
    if world != "equal":
        windows = {"noisy": noisy, "contended": contended}[world](rng, windows)
    mean, error = shift(windows)
    assert abs(mean) < 3 * error + 1e-4
    assert error < 3e-4


def test_a_slow_start_of_every_launch_is_left_out() -> None:
    _, windows = blocks()
    windows[:, :, 0, 0] += np.log(1.2)
    windows[:, :, 1, 0] += np.log(1.1)
    with_it, _ = shift(windows)
    windows[:, :, :2, 0] -= np.log([1.2, 1.1])
    assert with_it == pytest.approx(-0.011, abs=0.002)  # what the robust level lets two windows of eight shift it by
    assert abs(shift(windows)[0]) < 2e-4


def test_no_launch_is_judged_by_itself() -> None:
    """What is slow in one launch of seven alone stays, and is part of the arm's spread."""
    _, windows = blocks()
    one = windows[0]
    one[0, :4, 0] += np.log(1.5)
    counting = count_windows(one[:, :, :-1], [[False] * ROUNDS] * GENERATIONS, canary=one[:, :, -1])
    assert counting.windows.all()


CALM, DISTURBED = False, True


def test_a_generation_without_a_undisturbed_round_counts_where_few_have_one() -> None:
    few = [[CALM, DISTURBED]] * (MIN_LAUNCHES - 1) + [[DISTURBED, DISTURBED]]
    assert counted_rounds(few) == [[True, False]] * (MIN_LAUNCHES - 1) + [[True, True]]


@pytest.mark.extended
def test_intervals_keep_their_coverage_and_narrow() -> None:
    """A competitor that meets whole generations: 2,000 experiments of twelve, one in three of them without calm."""
    random = np.random.default_rng(7)
    covered: list[bool] = []
    widths: dict[str, list[float]] = {"counted": [], "all": []}
    for _ in range(2000):
        disturbed = random.random((12, 3)) < 0.3
        disturbed[random.random(12) < 1 / 3] = True
        windows = 0.01 * random.standard_normal((12, 1, 2)) + 0.02 * random.standard_normal((12, 3, 2))
        windows += np.where(disturbed[:, :, None], random.exponential(0.4, (12, 3, 2)), 0)
        kept = np.where(np.array(counted_rounds(disturbed.tolist()))[:, :, None], windows, np.nan)
        for name, table in (("counted", kept), ("all", windows)):
            levels = levels_of_windows(table)
            there = levels[~np.isnan(levels).any(axis=1)]
            if len(there) < MIN_LAUNCHES:
                continue
            interval = ratio_interval(there[:, 1], there[:, 0])
            widths[name].append(np.log(interval.high / interval.low))
            if name == "counted":
                covered.append(interval.low <= 1 <= interval.high)
    assert 0.93 <= np.mean(covered) <= 0.97
    assert np.median(widths["counted"]) < 0.3 * np.median(widths["all"])
