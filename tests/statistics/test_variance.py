import numpy as np
import pytest
from numpy.typing import NDArray

from levelfield.statistics.variance import split_variance


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
    assert split.generations == 299
    assert split.rounds == 150 * 9 + 149 * 6
    assert split.launch_sd == pytest.approx(0.01, rel=0.2)
