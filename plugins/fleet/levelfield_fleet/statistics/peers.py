"""A value against all the others of its row: their median, and their spread by Shamos's estimator.

The median of the distances of all pairs of peers (Shamos 1976) has 86 % of the efficiency of the standard deviation
under normal noise, where the median absolute deviation has 37 %, and stands as long as no more than 29 % of the peers
are off (Rousseeuw and Croux 1993). Of few peers it is small by chance about as rarely as the standard deviation: for
that, most of them must lie close together, and not only half of them.

References
----------
M. I. Shamos (1976). Geometry and statistics: problems at the interface. In J. F. Traub (ed.), Algorithms and
Complexity, 251–280.
P. J. Rousseeuw, C. Croux (1993). Alternatives to the median absolute deviation. JASA 88, 1273–1283.
"""

import functools
import math

import numpy as np
import scipy
from numpy.typing import NDArray

from levelfield.statistics.arrays import Floats

DISTANCE = math.sqrt(2) * float(scipy.special.ndtri(0.75))
"""Median distance of two values of a standard normal distribution: 0.954."""

FEWEST_PEERS = 3
"""Peers from which a spread is estimated. The spread of two rests on one difference, and is a hundredth of the true one
in one fleet in a hundred: to keep any false verdict on three nodes in one case below 1 %, a node had to be some 200
standard deviations off. For three peers it is some 20, for four 10, for seven 6."""


def of_the_others(values: Floats) -> tuple[Floats, Floats]:
    """Return the median of all the other values, for each value, and their spread.

    `values`, shape (n,), n at least 2: none missing. Returns shape (n,): the spread is the median distance of two peers
    over that of normal noise with a standard deviation of 1; of an even number of distances, the upper one of both in
    the middle, which is less often small by chance. NaN of one peer.

    Memory grows with the square of the values: 1,000 take 20 MB, in 20 ms.
    """
    order = np.argsort(values, kind="stable")
    ordered = values[order]
    centre, spread = np.empty_like(values), np.empty_like(values)
    centre[order] = _medians_without(ordered)
    spread[order] = _distances_without(ordered) / DISTANCE
    return centre, spread


def spread_between(values: Floats) -> float:
    """Return the spread of all values, by the same estimator.

    `values`, shape (n,): none missing. Returns: NaN of fewer than two values.
    """
    if values.size < 2:
        return math.nan
    first, second = _pairs(values.size)
    middle = first.size // 2
    return float(np.partition(np.abs(values[second] - values[first]), middle)[middle]) / DISTANCE


def _medians_without(ordered: Floats) -> Floats:
    """Return, for each value, the median of the others; `ordered` rises."""
    n = ordered.size
    low, high = (n - 2) // 2, (n - 1) // 2  # of n - 1 values, counted from 0
    rank = np.arange(n)

    def other(place: int) -> Floats:
        found: Floats = np.where(rank > place, ordered[place], ordered[place + 1])
        return found

    return (other(low) + other(high)) / 2


def _distances_without(ordered: Floats) -> Floats:
    """Return, for each value, the middle one of the distances between the others.

    Of all distances in order, it is the first at which enough of them are not the value's own. No more than n - 1 are,
    so only the n that follow the middle one of the others alone have to be looked at.
    """
    n = ordered.size
    if n < 3:
        return np.full(n, np.nan)
    first, second = _pairs(n)
    distances = ordered[second] - ordered[first]
    below = (n - 1) * (n - 2) // 4  # distances of others below the one that is looked for
    chosen = np.argpartition(distances, sorted({below, below + n - 1}))
    before, window = chosen[:below], chosen[below : below + n]
    window = window[np.argsort(distances[window], kind="stable")]
    own_before = np.bincount(first[before], minlength=n) + np.bincount(second[before], minlength=n)
    own = np.zeros((n, n), dtype=np.int32)
    place = np.arange(n)
    own[first[window], place] = own[second[window], place] = 1
    others = place - np.cumsum(own, axis=1)  # of the window, less one
    found: Floats = distances[window][(others >= own_before[:, None]).argmax(axis=1)]
    return found


@functools.lru_cache(maxsize=4)
def _pairs(n: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    first, second = np.triu_indices(n, 1)
    return first, second
