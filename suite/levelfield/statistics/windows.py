"""Quantiles of timed calls, with a bound that supposes nothing of the distribution.

References
----------
H. A. David, H. N. Nagaraja (2003). Order Statistics, 3rd ed., section 7.1 (distribution-free intervals).
S. S. Wilks (1941). Determination of sample sizes for setting tolerance limits. Annals of Mathematical Statistics 12,
91–96.
"""

import math

import numpy as np
from numpy.typing import ArrayLike

from levelfield.statistics.arrays import positive_times


def least_calls(quantile: float, *, confidence: float = 0.95) -> int:
    """Return the fewest independent calls that bound a quantile from above, whatever the distribution.

    All of n calls lie below the true quantile q with probability qⁿ, so the slowest call is an upper bound of it with
    confidence 1 - qⁿ (Wilks 1941; David & Nagaraja 2003, section 7.1). With fewer than n = log(1 - confidence) / log(q)
    calls there is no such bound, and an estimate is only another name for the largest value seen.

    `quantile`: between 0 and 1, such as 0.9. `confidence`: of the upper bound.

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
