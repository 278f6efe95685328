"""Ratios of quantiles by resampling rounds, all arms of a round together.

For *these* launches only: it says how well the windows pin down the ratio of, say, the p99 of two workers that are
alive now. It says nothing about the next launch; for that, take the log quantile of each launch to
`suite.statistics.ratios`. (Resampling launches instead covers only 86–94 % where there are fewer than five.)

Rounds, not calls, are drawn: calls of a round share the machine's mood, and so do the arms of a round, hence the same
rounds are drawn for both.

References
----------
B. Efron, R. J. Tibshirani (1993). An Introduction to the Bootstrap, ch. 8 (resample the units that are independent) and
ch. 13 (percentile intervals).
T. C. Hesterberg (2015). What teachers should know about the bootstrap. The American Statistician 69, 371–386
(expanded percentile intervals, section 4.3).
"""

import math
from collections.abc import Sequence

import msgspec
import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtr, stdtrit

from suite.statistics.arrays import Floats, checked_confidence, positive_times
from suite.statistics.errors import InsufficientData, UnusableData

MIN_ROUNDS = 10
"""Fewest rounds to resample: below, there is too little to draw from for a tail of 2.5 %."""

GRID = 4096
"""Values at which distributions are compared: ranks are exact to 1 in 8,000."""


class QuantileRatio(msgspec.Struct, frozen=True):
    """Ratio of a quantile of two arms, for the launches at hand."""

    quantile: float
    ratio: float
    low: float
    high: float
    confidence: float
    rounds: int


def quantile_ratio(
    rounds_a: Sequence[ArrayLike],
    rounds_b: Sequence[ArrayLike],
    quantile: float,
    *,
    confidence: float = 0.95,
    resamples: int = 2000,
    seed: int = 0,
) -> QuantileRatio:
    """Return the ratio of a quantile of two arms with a percentile interval over resampled rounds.

    Parameters
    ----------
    rounds_a, rounds_b : sequence of array_like, each shape (calls,), any unit of time
        Calls of each round, in the same order of rounds for both arms.
    quantile : float
        Between 0 and 1.
    confidence : float
        Of the interval.
    resamples : int
        Bootstrap samples.
    seed : int
        Of the resampling, so that a record gives the same numbers tomorrow.

    Raises
    ------
    InsufficientData
        Fewer than `MIN_ROUNDS` rounds, or a round without calls.
    UnusableData
        Different numbers of rounds, or values that are not times.
    """
    checked_confidence(confidence)
    if not 0 < quantile < 1:
        raise ValueError(f"A quantile lies between 0 and 1, such as 0.9; {quantile} does not.")
    if len(rounds_a) != len(rounds_b):
        raise UnusableData(f"The arms have {len(rounds_a)} and {len(rounds_b)} rounds: rounds are shared by all arms.")
    count = len(rounds_a)
    if count < MIN_ROUNDS:
        raise InsufficientData(f"{count} rounds: resampling needs at least {MIN_ROUNDS}.")
    draws = np.random.default_rng(seed).multinomial(count, np.full(count, 1 / count), size=resamples)
    drawn = np.vstack((np.ones(count, dtype=np.int64), draws)).astype(np.float64)
    logs = _log_quantiles(rounds_a, drawn, quantile) - _log_quantiles(rounds_b, drawn, quantile)
    tail = _expanded_tail((1 - confidence) / 2, count)
    low, high = np.quantile(logs[1:], (tail, 1 - tail))
    return QuantileRatio(
        quantile=quantile,
        ratio=math.exp(float(logs[0])),
        low=math.exp(float(low)),
        high=math.exp(float(high)),
        confidence=confidence,
        rounds=count,
    )


def _expanded_tail(tail: float, units: int) -> float:
    """Tail of the resamples to cut off (Hesterberg 2015).

    A bootstrap of n units is too narrow by sqrt((n - 1) / n), and by the difference between Student's t and the normal
    distribution.
    """
    return float(ndtr(stdtrit(units - 1, tail) * math.sqrt(units / (units - 1))))


def _log_quantiles(rounds: Sequence[ArrayLike], drawn: Floats, quantile: float) -> Floats:
    """Log quantile of the pooled calls for each row of `drawn` (how often each round counts).

    The calls are sorted once; each resample is then a weighted mean of the rounds' distribution functions on a grid.
    """
    times = [np.sort(positive_times(calls, what="calls of a round")) for calls in rounds]
    pooled = np.sort(np.concatenate(times))
    grid = pooled if pooled.size <= GRID else pooled[np.linspace(0, pooled.size - 1, GRID).astype(np.int64)]
    below = np.stack([np.searchsorted(calls, grid, side="right") for calls in times]).astype(np.float64)
    sizes = np.array([calls.size for calls in times], dtype=np.float64)
    share = (drawn @ below) / (drawn @ sizes)[:, None]
    place = np.minimum((share < quantile).sum(axis=1), grid.size - 1)
    logs: Floats = np.log(grid[place])
    return logs
