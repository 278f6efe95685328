"""Warm-up judged across launches: how often a steady arm is accused, how often a slow start is found, what is left."""

import numpy as np
import pytest
from numpy.typing import NDArray

from levelfield.statistics.counting import count_windows
from levelfield.statistics.levels import levels_of_windows
from levelfield.statistics.warming import ALPHA, Start, find_slow_starts

Floats = NDArray[np.float64]
SLOW = (0.20, 0.10)
"""The first window of a launch takes 20 % longer than a settled one, the second 10 %."""
STEADY = Start(0, settled=True)


def blocks(
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
    share = called_slow(blocks(experiments, rounds=rounds, arms=arms, seed=7)).mean()
    # Arms of one block are not independent: the error allowed is that of one arm alone.
    assert share <= ALPHA + 3 * np.sqrt(ALPHA * (1 - ALPHA) / experiments)


@pytest.mark.extended
@pytest.mark.parametrize(("arms", "slow_arms", "least"), [(7, 1, 0.7), (2, 1, 0.6), (7, 7, 0.4), (7, 4, 0.4)])
def test_a_slow_start_is_found(arms: int, slow_arms: int, least: float) -> None:
    shares = called_slow(blocks(1500, arms=arms, slow=SLOW, slow_arms=slow_arms))
    assert shares[:slow_arms].min() >= least
    assert shares[slow_arms:].max(initial=0.0) <= 0.03  # the others are not accused in its place


@pytest.mark.extended
def test_the_bias_of_a_slow_start_is_halved_where_it_is_found_and_gone_with_more_rounds() -> None:
    """With two rounds the second is all that is left, and nothing shows that it had settled: that is said."""
    for rounds, slow, before, after in ((2, SLOW, 0.15, 0.115), (6, (0.2, 0.1, 0.0, 0.0, 0.0, 0.0), 0.05, 0.005)):
        plain, mended, open_ = [], [], []
        for windows in blocks(300, rounds=rounds, slow=slow, seed=3):
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
    windows = blocks(1, rounds=5, slow=(0.4, 0.2), seed=2)[0] * np.array(1.0)
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
