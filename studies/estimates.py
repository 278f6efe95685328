"""Means over launches with their intervals, as trials report them."""

import math
from collections.abc import Sequence

import msgspec
import numpy as np

from suite.statistics.student import mean_of

_FEWEST = 2
"""Launches for an interval."""


class Estimate(msgspec.Struct, frozen=True):
    """A mean over launches, with its 95 % t interval; None: too few launches for one."""

    value: float
    low: float | None
    high: float | None

    def written(self, unit: str = "", *, per: float = 1.0, digits: int = 2) -> str:
        """Return `4.00 µs (3.90 to 4.10)`."""
        value = f"{self.value / per:.{digits}f}{f' {unit}' if unit else ''}"
        if self.low is None or self.high is None:
            return value
        return f"{value} ({self.low / per:.{digits}f} to {self.high / per:.{digits}f})"


def mean(values: Sequence[float]) -> Estimate:
    """Return the mean of one value for each launch."""
    found = mean_of(np.asarray(values, dtype=np.float64))
    if len(values) < _FEWEST:
        return Estimate(found.value, None, None)
    half = found.half_width(0.95)
    return Estimate(found.value, found.value - half, found.value + half)


def geometric_mean(ratios: Sequence[float]) -> Estimate:
    """Return the geometric mean of one ratio for each launch; the interval is that of the mean of the logs."""
    found = mean([math.log(ratio) for ratio in ratios])
    ends = (None if end is None else math.exp(end) for end in (found.low, found.high))
    return Estimate(math.exp(found.value), *ends)
