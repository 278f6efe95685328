"""Leaving windows out shifts no ratio, unless the arm really starts slowly: in all of its launches, or in some."""

import numpy as np
import pytest
from numpy.typing import NDArray

from levelfield.statistics.counting import ALPHA, Start, count_windows, counted_rounds, find_slow_starts
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


SLOW = (0.20, 0.10)
"""The first window of a launch takes 20 % longer than a settled one, the second 10 %."""
STEADY = Start(0, settled=True)


def starts(
    experiments: int, *, rounds: int = 2, arms: int = 7, slow: tuple[float, ...] = (), slow_arms: int = 1, seed: int = 1
) -> Floats:
    """Log windows (experiments, 5 launches, rounds, arms and the canary), with the variances of a shared machine."""
    rng = np.random.default_rng(seed)
    shape = (experiments, 5, rounds, arms + 1)
    windows = 0.024 * rng.standard_normal(shape) + 0.044 * rng.standard_normal((*shape[:3], 1))
    windows += 0.01 * rng.standard_normal((experiments, 5, 1, arms + 1))
    for place, extra in enumerate(slow[:rounds]):
        windows[:, :, place, :slow_arms] += np.log1p(extra)
    found: Floats = windows
    return found


def called_slow(windows: Floats) -> Floats:
    """Return the share of experiments in which each arm was called slow."""
    found = [[start.slow_rounds > 0 for start in find_slow_starts(w[:, :, :-1], canary=w[:, :, -1])] for w in windows]
    shares: Floats = np.asarray(found, dtype=np.float64).mean(axis=0)
    return shares


@pytest.mark.sampled(1)
@pytest.mark.parametrize(("rounds", "arms"), [(2, 7), (2, 2), (4, 3), (6, 2)])
def test_a_steady_arm_is_rarely_called_slow(rounds: int, arms: int) -> None:
    experiments = 3000
    share = called_slow(starts(experiments, rounds=rounds, arms=arms, seed=7)).mean()
    # Arms of one block are not independent: the error allowed is that of one arm alone.
    assert share <= ALPHA + 3 * np.sqrt(ALPHA * (1 - ALPHA) / experiments)


@pytest.mark.extended
@pytest.mark.parametrize(("arms", "slow_arms", "least"), [(7, 1, 0.7), (2, 1, 0.6), (7, 7, 0.4), (7, 4, 0.4)])
def test_a_slow_start_is_found(arms: int, slow_arms: int, least: float) -> None:
    shares = called_slow(starts(1500, arms=arms, slow=SLOW, slow_arms=slow_arms))
    assert shares[:slow_arms].min() >= least
    assert shares[slow_arms:].max(initial=0.0) <= 0.03  # the others are not accused in its place


@pytest.mark.extended
def test_the_bias_of_a_slow_start_is_halved_where_it_is_found_and_gone_with_more_rounds() -> None:
    """With two rounds the second is all that is left, and nothing shows that it had settled: that is said."""
    for rounds, slow, before, after in ((2, SLOW, 0.15, 0.115), (6, (0.2, 0.1, 0.0, 0.0, 0.0, 0.0), 0.05, 0.005)):
        plain, mended, open_ = [], [], []
        for windows in starts(300, rounds=rounds, slow=slow, seed=3):
            logs = windows[:, :, :-1]
            counting = count_windows(logs, [[False] * rounds] * 5, canary=windows[:, :, -1])
            whole = logs.mean(axis=1)
            plain.append((whole[:, 0] - whole[:, 1:].mean(axis=1)).mean())
            levels = levels_of_windows(np.where(counting.windows, logs, np.nan))
            mended.append((levels[:, 0] - levels[:, 1:].mean(axis=1)).mean())
            if counting.starts[0].slow_rounds:
                open_.append(not counting.starts[0].settled)
        assert np.expm1(np.mean(plain)) == pytest.approx(before, abs=0.01)
        assert np.expm1(np.mean(mended)) < after
        assert np.mean(open_) == pytest.approx(1.0 if rounds == 2 else 0.0, abs=0.02)


def test_all_slow_rounds_are_left_out_and_no_more() -> None:
    windows = starts(1, rounds=5, slow=(0.4, 0.2), seed=2)[0] * np.array(1.0)
    found = find_slow_starts(windows[:, :, :-1], canary=windows[:, :, -1])
    assert (found[0].slow_rounds, found[0].settled) == (2, True)
    assert found[0].excess == pytest.approx(np.log(1.4), abs=0.06)
    assert found[1:] == (STEADY,) * 6


def test_what_the_machine_does_to_all_is_no_warm_up() -> None:
    windows = 0.001 * np.random.default_rng(1).standard_normal((5, 2, 4))
    windows[:, 0] += 0.3
    assert find_slow_starts(windows[:, :, :-1], canary=windows[:, :, -1]) == (STEADY,) * 3


def test_a_launch_without_other_windows_is_left_out_where_enough_have_some() -> None:
    windows = 0.001 * np.random.default_rng(4).standard_normal((7, 2, 3))
    windows[:, 0, 0] += 0.3
    windows[6, 1, 0] = np.nan
    counting = count_windows(windows, [[False, False]] * 7)
    assert not counting.windows[:, 0, 0].any()
    assert counting.windows[:6, 1, 0].all()
    few = count_windows(windows[2:], [[False, False]] * 5)
    assert few.windows[:, :, 0].tolist() == [[False, True]] * 4 + [[True, False]]  # better than nothing
