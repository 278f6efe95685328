"""Intervals of any measure of items, by drawing the items again (the percentile bootstrap)."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from levelfield.statistics.arrays import InsufficientData, checked_confidence

DRAWS = 1000
SEED = 20_161_016
"""Fixed: the same record gives the same interval."""


def interval(
    measure: Callable[[NDArray[np.intp]], float], items: int, *, confidence: float = 0.95, draws: int = DRAWS
) -> tuple[float, float]:
    """Return the percentile interval of a measure.

    Where two arms answered the same items, let `measure` return their difference for the same draw: then what the items
    have in common cancels, and the interval is a paired one.

    Parameters
    ----------
    measure : callable
        Returns the measure of the items of these places, some of them several times; NaN where it is not defined, and
        such draws are left out.
    items : int
        How many there are.
    confidence : float
        Of the interval.
    draws : int
        How often all items are drawn, with replacement.

    Raises
    ------
    InsufficientData
        There are fewer than two items, the measure is defined in less than half of the draws, or it is always the same.

    References
    ----------
    B. Efron, R. J. Tibshirani (1993). An Introduction to the Bootstrap. Chapman & Hall, chapter 13.
    """
    checked_confidence(confidence)
    if items < 2:
        raise InsufficientData(f"{items} items: at least 2 are needed to draw them again.")
    generator = np.random.Generator(np.random.Philox(SEED))
    found = np.array([measure(generator.integers(0, items, items)) for _ in range(draws)])
    defined = found[~np.isnan(found)]
    if 2 * len(defined) < draws:
        raise InsufficientData("The measure is not defined in half of the draws.")
    if np.ptp(defined) == 0:
        raise InsufficientData("All draws give the same: the items say nothing of how others would differ.")
    low, high = np.quantile(defined, [0.5 - confidence / 2, 0.5 + confidence / 2])
    return float(low), float(high)
