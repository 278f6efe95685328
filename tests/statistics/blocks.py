"""Simulated blocks: windows with the variances that were measured on a real machine, reduced to launch levels."""

from typing import Literal, TypeAlias

import numpy as np

from levelfield.statistics.arrays import Floats
from levelfield.statistics.levels import levels_of_windows

Noise: TypeAlias = Literal["normal", "heavy tails", "spikes"]

LAUNCH_SD, WINDOW_SD, DRIFT_SD = 0.008, 0.046, 0.044
"""Of a launch, of a window within it, and of what all arms of a round share (reports/trials/rigor-2026-11-21.md)."""


def levels(
    rng: np.random.Generator,
    blocks: int,
    *,
    truth: Floats,
    generations: int,
    rounds: int,
    noise: Noise = "normal",
    scale: Floats | float = 1.0,
) -> Floats:
    """Return launch levels of independent blocks, shape (blocks, generations, arms), log of time.

    Parameters
    ----------
    truth, scale
        Of each arm: its log time, and a factor on its standard deviations.
    """
    arms = truth.size
    shape = (blocks * generations, rounds, arms)
    windows = truth + DRIFT_SD * rng.standard_normal((*shape[:2], 1))
    windows += LAUNCH_SD * scale * rng.standard_normal((shape[0], 1, arms))
    windows += WINDOW_SD * scale * _noise(rng, noise, shape)
    return levels_of_windows(windows).reshape(blocks, generations, arms)


def _noise(rng: np.random.Generator, noise: Noise, shape: tuple[int, ...]) -> Floats:
    match noise:
        case "normal":
            return rng.standard_normal(shape)
        case "heavy tails":
            return np.asarray(rng.standard_t(3, shape) / np.sqrt(3), dtype=np.float64)
        case "spikes":
            return rng.standard_normal(shape) + np.where(rng.random(shape) < 0.1, 3.0, 0.0)
