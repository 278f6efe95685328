"""Quantiles with a bound that supposes nothing of the distribution: of timed calls, and the median of a few launches.

A mean with its t interval answers "what do they cost on average", and one launch that ran on one core instead of two
widens it beyond use. The median with the interval between two order statistics answers "what does one usually cost",
and supposes nothing of the distribution.

References
----------
H. A. David, H. N. Nagaraja (2003). Order Statistics, 3rd ed., section 7.1 (distribution-free intervals).
S. S. Wilks (1941). Determination of sample sizes for setting tolerance limits. Annals of Mathematical Statistics 12,
91–96.
"""

import math
from functools import cache

import msgspec
import numpy as np
import scipy
from numpy.typing import ArrayLike

from levelfield.statistics.arrays import (
    InsufficientData,
    UnusableData,
    checked_confidence,
    finite_or_missing,
    positive_times,
)


def least_calls(quantile: float, *, confidence: float = 0.95) -> int:
    """Return the fewest independent calls that bound a quantile from above, whatever the distribution.

    All of n calls lie below the true quantile q with probability qⁿ, so the slowest call is an upper bound of it with
    confidence 1 - qⁿ (Wilks 1941; David & Nagaraja 2003, section 7.1). With fewer than n = log(1 - confidence) / log(q)
    calls there is no such bound, and an estimate is only another name for the largest value seen.

    Parameters
    ----------
    quantile : float
        Between 0 and 1, such as 0.9.
    confidence : float
        Of the upper bound.

    Examples
    --------
    >>> least_calls(0.9), least_calls(0.99)
    (29, 299)
    """
    return math.ceil(math.log(1 - confidence) / math.log(quantile))


TAILS = (0.9, 0.99)
"""Quantiles whose absence is explained."""
REPORTED = (0.5, *TAILS, 0.999)
"""Quantiles that are reported beside the typical call."""


def quantiles_absent(calls: int) -> str:
    """Say which quantiles so few calls do not give; empty where they give all of `TAILS`."""
    missing = [each for each in TAILS if calls < least_calls(each)]
    return ", ".join(f"a p{100 * each:g} needs {least_calls(each)} calls" for each in missing)


def quantiles(samples: ArrayLike) -> tuple[float | None, ...]:
    """Return the quantiles of `REPORTED` of timed calls, in their unit; None below `least_calls` calls.

    `samples`, shape (calls,): all calls; nothing is thrown away. Raises InsufficientData: no calls. Raises
    UnusableData: NaN, infinite, zero or negative times.
    """
    times = positive_times(samples, what="calls")
    found = np.quantile(times, REPORTED)
    return tuple(
        float(value) if times.size >= least_calls(quantile) else None
        for quantile, value in zip(REPORTED, found, strict=True)
    )


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
