"""The typical value of a few launches, of which one in twenty may be an outlier.

A mean with its t interval answers "what do they cost on average", and one launch that ran on one core instead of two
widens it beyond use. The median with the interval between two order statistics answers "what does one usually cost",
and supposes nothing of the distribution.
"""

from functools import cache

import msgspec
import numpy as np
import scipy
from numpy.typing import ArrayLike

from levelfield.statistics.arrays import InsufficientData, UnusableData, checked_confidence, finite_or_missing


class MedianInterval(msgspec.Struct, frozen=True):
    """A median with its interval."""

    value: float
    low: float
    high: float


def median_interval(values: ArrayLike, *, confidence: float = 0.95) -> MedianInterval:
    """Return the median of independent values with its exact, distribution-free interval.

    Parameters
    ----------
    values : array_like, shape (launches,)
        One value a launch, in any unit.
    confidence : float
        The interval covers the true median at least as often.

    Raises
    ------
    InsufficientData
        So few values cannot bound their median with that confidence (six can at 95 %, eight at 99 %).
    UnusableData
        Missing or infinite values.

    References
    ----------
    W. J. Conover (1999). Practical Nonparametric Statistics, third edition, section 3.2 (`scipy.stats.quantile_test`).

    Examples
    --------
    >>> median_interval([1.0, 1.1, 0.9, 1.2, 0.8, 30.0])
    MedianInterval(value=1.05, low=0.8, high=30.0)
    """
    checked_confidence(confidence)
    each = finite_or_missing(values, dimensions=1, what="values of launches")
    if np.isnan(each).any():
        raise UnusableData("The values of launches hold one that is missing: leave it out, and say so.")
    needed = int(np.floor(1 - np.log2(1 - confidence))) + 1
    if each.size < needed:
        raise InsufficientData(f"{each.size} launches cannot bound their median; {needed} can.")
    low, high = _order_statistics(each.size, confidence)
    ordered = np.sort(each)
    return MedianInterval(float(np.median(each)), float(ordered[low]), float(ordered[high]))


@cache
def _order_statistics(count: int, confidence: float) -> tuple[int, int]:
    """Return the indices of the two order statistics, from the smallest: they follow from the count alone."""
    interval = scipy.stats.quantile_test(np.arange(count), p=0.5).confidence_interval(confidence_level=confidence)
    return int(interval.low), int(interval.high)
