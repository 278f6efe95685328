import numpy as np
import pytest

from levelfield.statistics.levels import levels_of_windows


def test_drift_of_the_rounds_leaves_the_ratio_alone() -> None:
    drift = np.random.default_rng(0).normal(0, 0.5, (4, 7, 1))
    arms = np.array([0.0, 0.1, 0.5])
    levels = levels_of_windows(drift + arms)
    assert levels - levels[:, :1] == pytest.approx(np.tile(arms, (4, 1)))


def test_a_spike_in_one_window_in_four_does_not_move_a_launch() -> None:
    windows = np.zeros((1, 8, 2))
    windows[0, 2, 0] = windows[0, 5, 0] = 3.0
    assert levels_of_windows(windows) == pytest.approx(np.zeros((1, 2)))


def test_a_failed_launch_is_missing_and_leaves_the_others_alone() -> None:
    windows = np.random.default_rng(1).normal(0, 0.01, (3, 6, 3))
    whole = levels_of_windows(windows[:, :, :2])
    windows[1, :, 2] = np.nan
    levels = levels_of_windows(windows)
    assert np.isnan(levels[1, 2])
    assert np.isnan(levels).sum() == 1
    assert levels[1, :2] == pytest.approx(whole[1])


def test_a_launch_that_dies_in_the_middle_is_compared_round_by_round() -> None:
    # The machine slows down by half in the rounds that the second arm did not live to see.
    drift = np.array([0.0, 0.0, 0.0, 0.4, 0.4, 0.4])
    windows = np.stack((drift, drift + 0.1, drift + 0.2), axis=1)[None]
    windows[0, 3:, 1] = np.nan
    levels = levels_of_windows(windows)[0]
    assert levels - levels[0] == pytest.approx(np.array([0.0, 0.1, 0.2]))
