"""Noise of a short, correlated series with outliers: its spread, its autocorrelation time, and whether it has a trend.

References
----------
K. H. Hamed, A. R. Rao (1998). A modified Mann-Kendall trend test for autocorrelated data. Journal of Hydrology 204,
182–196.
"""

import math

import numpy as np
import scipy

from suite.statistics.arrays import Floats
from suite.statistics.segments import robust_spread, theil_sen

FEW = 10
"""Below this many values, their spread is not taken robustly."""

LEAST_TREND = 6
"""Fewest values that can show a trend: six in order are the first whose p value is below `ALPHA_TREND`."""

ALPHA_TREND = 0.01
"""Two-sided level at which a trend counts as real; six values in order have p = 0.003."""


class Noise:
    """Level, noise and autocorrelation time of what a segment is compared with."""

    def __init__(self, points: Floats) -> None:
        residuals = _detrended(points)
        self.size = points.size
        self.level = float(np.median(points))
        # The median deviation of a handful of values is often near zero by chance; their standard deviation, whose
        # tails Student's t knows, errs on the side of calling things noise.
        self.spread = robust_spread(residuals) if self.size >= FEW else float(residuals.std(ddof=2))
        self.correlation_time = _correlation_time(residuals, self.spread)

    def allows(self, size: int, alpha: float) -> float:
        """Return the largest offset of a segment that noise explains, on the log scale.

        Parameters
        ----------
        size : int
            Points of the segment.
        alpha : float
            One-sided level of the test.
        """
        tau = self.correlation_time
        noise = self.spread * math.sqrt(min(tau, size) / size + min(tau, self.size) / self.size)
        freedom = max((self.size - 2) / tau, 1)
        return float(scipy.special.stdtrit(freedom, 1 - alpha)) * noise


def _detrended(values: Floats) -> Floats:
    """Residuals of the Theil–Sen line: a trend is not noise, and must not widen what noise allows."""
    position = np.arange(values.size, dtype=np.float64)
    residuals: Floats = values - theil_sen(values)[0] * position
    residuals -= np.median(residuals)
    return residuals


def _correlation_time(residuals: Floats, spread: float) -> float:
    """Integrated autocorrelation time from lag 1, (1 + r) / (1 - r), spikes clipped; 1 for white noise."""
    if spread == 0:
        return 1.0
    clipped = np.clip(residuals, -3 * spread, 3 * spread)
    clipped = clipped - clipped.mean()
    r = float((clipped[1:] * clipped[:-1]).sum() / (clipped**2).sum())
    r = min(max(r + 1 / residuals.size, 0.0), 0.95)  # lag-1 correlation is biased by about -1/n
    return (1 + r) / (1 - r)


def trend_of(values: Floats, correlation_time: float, tolerance: float) -> float:
    """Return the change over a whole series by the Theil–Sen slope, if it is significant (modified Mann–Kendall).

    Parameters
    ----------
    values : ndarray, shape (n,), log of time
        In the order of time.
    correlation_time : float
        Integrated autocorrelation time of the noise, in values; 1 for white noise.
    tolerance : float
        A change up to this does not matter, log scale.

    Returns
    -------
    float
        Log scale; 0 if not significant or small.
    """
    n = values.size
    if n < LEAST_TREND or np.ptp(values) == 0:
        return 0.0
    change = theil_sen(values)[0] * (n - 1)
    if abs(change) <= tolerance:
        return 0.0
    tau = scipy.stats.kendalltau(np.arange(n), values)
    p = float(tau.pvalue)
    if correlation_time > 1:
        # Variance of Kendall's score under independence, inflated by the autocorrelation time.
        deviation = math.sqrt(2 * (2 * n + 5) / (9 * n * (n - 1)) * correlation_time)
        p = max(p, float(2 * scipy.special.ndtr(-abs(float(tau.statistic)) / deviation)))
    return change if p <= ALPHA_TREND else 0.0
