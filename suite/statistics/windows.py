"""Summaries of timed calls: median and upper quantiles, with order-statistic intervals.

Times of calls are skewed and have spikes, so the mean is not used: one page fault moves it and nobody meets it.

References
----------
H. A. David, H. N. Nagaraja (2003). Order Statistics, 3rd ed., section 7.1 (distribution-free intervals).
S. S. Wilks (1941). Determination of sample sizes for setting tolerance limits. Annals of Mathematical Statistics 12,
91–96.
"""

import math

import msgspec
import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import binom

from suite.statistics.arrays import Floats, checked_confidence, positive_times


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
"""Quantiles that are told beside the typical call."""


def quantiles_absent(calls: int) -> str:
    """Say which quantiles so few calls do not give; empty where they give all of `TAILS`."""
    missing = [each for each in TAILS if calls < least_calls(each)]
    return ", ".join(f"a p{100 * each:g} needs {least_calls(each)} calls" for each in missing)


class WindowSummary(msgspec.Struct, frozen=True):
    """Calls of one window (or of several together), in the unit of the input."""

    calls: int
    minimum: float
    p50: float
    p90: float | None
    p99: float | None
    """None below `least_calls` calls."""
    maximum: float
    spread: float
    """Robust relative spread: 1.4826 × median absolute deviation of log times (the standard deviation, if normal)."""


class QuantileInterval(msgspec.Struct, frozen=True):
    """A quantile of independent calls with its distribution-free interval."""

    quantile: float
    value: float
    low: float | None
    high: float | None
    """None where too few calls lie on that side for the asked confidence."""
    confidence: float
    calls: int


def summarise(samples: ArrayLike) -> WindowSummary:
    """Return the robust summary of timed calls.

    Parameters
    ----------
    samples : array_like, shape (calls,), any unit of time
        All calls; nothing is thrown away.

    Raises
    ------
    InsufficientData
        No calls.
    UnusableData
        NaN, infinite, zero or negative times.
    """
    times = positive_times(samples, what="calls")
    p50, p90, p99 = np.quantile(times, (0.5, 0.9, 0.99))
    logs = np.log(times)
    spread = 1.4826 * np.median(np.abs(logs - np.log(p50)))
    return WindowSummary(
        calls=times.size,
        minimum=float(times.min()),
        p50=float(p50),
        p90=float(p90) if times.size >= least_calls(0.9) else None,
        p99=float(p99) if times.size >= least_calls(0.99) else None,
        maximum=float(times.max()),
        spread=float(spread),
    )


def quantile_interval(samples: ArrayLike, quantile: float, *, confidence: float = 0.95) -> QuantileInterval:
    """Return a quantile with a distribution-free (binomial) interval.

    Parameters
    ----------
    samples : array_like, shape (calls,), any unit of time
        Independent calls. Calls of several launches are not: compare launches with `suite.statistics.ratios`, given
        the log quantile of each launch.
    quantile : float
        Between 0 and 1, such as 0.9.
    confidence : float
        Of the interval; discreteness makes the true one larger, never smaller.

    Returns
    -------
    QuantileInterval
        A side for which even the extreme call is not far enough out is None.

    Raises
    ------
    InsufficientData, UnusableData
        As in `summarise`.
    """
    checked_confidence(confidence)
    if not 0 < quantile < 1:
        raise ValueError(f"A quantile lies between 0 and 1, such as 0.9; {quantile} does not.")
    times: Floats = positive_times(samples, what="calls")
    calls = times.size
    tail = (1 - confidence) / 2
    # The number of calls below the quantile is binomial: its tails give the order statistics that bracket it.
    below = int(binom.ppf(tail, calls, quantile))
    if binom.cdf(below, calls, quantile) > tail:
        below -= 1
    above = int(binom.ppf(1 - tail, calls, quantile)) + 1
    ordered = np.sort(times)
    return QuantileInterval(
        quantile=quantile,
        value=float(np.quantile(times, quantile)),
        low=float(ordered[below]) if below >= 0 else None,
        high=float(ordered[above - 1]) if above <= calls else None,
        confidence=confidence,
        calls=calls,
    )
