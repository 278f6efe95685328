"""Where the variance is: between launches, between rounds, between windows.

The model, on the log scale, for generation g, round r and arm a::

    y[g, r, a] = level[a] + launch[g, a] + drift[g, r] + window[g, r, a]

All arms of a round share `drift`, so it leaves their ratios alone; it is separated here to show how much was gained by
interleaving. What `window` holds beyond the error of a median of its calls is the machine between windows.

References
----------
T. Kalibera, R. Jones (2013). Rigorous benchmarking in reasonable time. ISMM '13, 63–74.
S. R. Searle, G. Casella, C. E. McCulloch (1992). Variance Components, ch. 4 (analysis-of-variance estimators).
"""

import math

import msgspec
import numpy as np
from numpy.typing import ArrayLike

from levelfield.statistics.arrays import Floats, InsufficientData, finite_or_missing


class VarianceSplit(msgspec.Struct, frozen=True):
    """Standard deviations on the log scale: 0.01 is about 1 %."""

    launch_sd: float
    """Between launches of the same program."""
    window_sd: float
    """Between windows of one launch, drift of the rounds removed."""
    round_sd: float
    """Common to all arms of a round: what pairing removes."""
    generations: int
    rounds: int
    """Complete rounds over all generations."""
    arms: int


def split_variance(log_windows: ArrayLike) -> VarianceSplit:
    """Split the variance of a block's windows.

    Parameters
    ----------
    log_windows : array_like, shape (generations, rounds, arms), log of time
        Log of each window's median; NaN where there is none. Only complete rounds are used.

    Returns
    -------
    VarianceSplit
        Averages over the arms. A component whose estimate is negative (it happens when it is small) is 0.

    Raises
    ------
    InsufficientData
        Fewer than two arms, or fewer than two generations with at least two complete rounds each.
    UnusableData
        Infinite values, or not three dimensions.
    """
    windows = finite_or_missing(log_windows, dimensions=3, what="windows")
    arms = windows.shape[2]
    if arms < 2:
        raise InsufficientData("Splitting the variance takes at least two arms: drift is what they have in common.")
    blocks = [block[~np.isnan(block).any(axis=1)] for block in windows]
    blocks = [block for block in blocks if block.shape[0] >= 2]
    if len(blocks) < 2:
        raise InsufficientData(
            f"{len(blocks)} generations have two complete rounds or more; splitting the variance takes at least two."
        )
    rounds = np.array([block.shape[0] for block in blocks])
    window = _window_variance(blocks)
    means = np.array([block.mean(axis=0) for block in blocks])
    # Interaction of generation and arm: what is left of launch means without arm and generation.
    rest = means - means.mean(axis=0) - means.mean(axis=1, keepdims=True) + means.mean()
    between = float((rest**2).sum() / ((len(blocks) - 1) * (arms - 1)))
    launch = max(between - window * float((1 / rounds).mean()), 0.0)
    drift = max(_round_variance(blocks) - window / arms, 0.0)
    return VarianceSplit(
        launch_sd=math.sqrt(launch),
        window_sd=math.sqrt(window),
        round_sd=math.sqrt(drift),
        generations=len(blocks),
        rounds=int(rounds.sum()),
        arms=arms,
    )


def _window_variance(blocks: list[Floats]) -> float:
    """Mean square of the interaction of rounds and arms within generations."""
    squares, freedom = 0.0, 0
    for block in blocks:
        rest = block - block.mean(axis=0) - block.mean(axis=1, keepdims=True) + block.mean()
        squares += float((rest**2).sum())
        freedom += (block.shape[0] - 1) * (block.shape[1] - 1)
    return squares / freedom


def _round_variance(blocks: list[Floats]) -> float:
    """Variance of round means within generations."""
    squares, freedom = 0.0, 0
    for block in blocks:
        means = block.mean(axis=1)
        squares += float(((means - means.mean()) ** 2).sum())
        freedom += block.shape[0] - 1
    return squares / freedom
