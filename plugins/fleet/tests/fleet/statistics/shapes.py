"""The distance of a normal value from the median of its peers, over their spread: its tails, far out, by simulation.

The shape of m normal values (what is left when their mean is 0 and their length 1) is independent of their mean and
length. Of a shape, median and spread are multiples of the length. So given the shape, the probability of a distance
beyond a limit is a tail of Student's t with m - 1 degrees of freedom, and only over shapes a mean of draws is taken.
"""

import math
from collections.abc import Sequence

import msgspec
import numpy as np
import scipy

from levelfield.statistics.arrays import Floats
from levelfield_fleet.statistics import tails
from levelfield_fleet.statistics.peers import DISTANCE

FITTED = (1e-3, 1e-6)
"""Probabilities, one-sided, at which Student's t and a factor are fitted."""
_VALUES = 1 << 24
"""Numbers that are in memory together."""


class Shapes(msgspec.Struct, frozen=True):
    """Shapes of peers."""

    peers: int
    centre: Floats
    """Their median, for a mean of 0 and a length of 1."""
    spread: Floats

    def beyond(self, limit: float) -> float:
        """Return the probability that a value lies further than `limit` spreads above the median of its peers."""
        scale = math.sqrt((self.peers - 1) / (1 + 1 / self.peers))
        return float(scipy.special.stdtr(self.peers - 1, -scale * (limit * self.spread + self.centre)).mean())

    def limit(self, level: float) -> float:
        """Return the distance that a value is beyond with a probability of `level`."""

        def excess(log_limit: float) -> float:
            return math.log(max(self.beyond(math.exp(log_limit)), 1e-300) / level)

        return math.exp(scipy.optimize.brentq(excess, -3.0, 20.0, xtol=1e-6))


class Fit(msgspec.Struct, frozen=True):
    """Student's t with `freedom` degrees of freedom, times `stretch`."""

    peers: int
    freedom: float
    stretch: float


class Check(msgspec.Struct, frozen=True):
    """How often a value is beyond the limit of a level."""

    peers: int
    level: float
    """One-sided."""
    limit: float
    """From `statistics.tails.critical`, for levels without heavy tails."""
    simulated: float


def draw(rng: np.random.Generator, peers: int, number: int) -> Shapes:
    """Draw shapes of normal values."""
    first, second = np.triu_indices(peers, 1)
    centres, spreads = [], []
    at_once = max(_VALUES // first.size, 1)
    for part in range(0, number, at_once):
        values = rng.standard_normal((min(at_once, number - part), peers))
        values -= values.mean(axis=1, keepdims=True)
        values /= np.sqrt((values**2).sum(axis=1, keepdims=True))
        centres.append(np.median(values, axis=1))
        middle = first.size // 2
        spreads.append(np.partition(np.abs(values[:, first] - values[:, second]), middle, axis=1)[:, middle] / DISTANCE)
    return Shapes(peers, np.concatenate(centres), np.concatenate(spreads))


def fit(shapes: Shapes, levels: Sequence[float] = FITTED) -> Fit:
    """Return the distribution whose tails are those of the distances, at two levels."""
    near, far = (shapes.limit(level) for level in levels)

    def excess(log_freedom: float) -> float:
        quantiles = scipy.special.stdtrit(math.exp(log_freedom), np.array(levels))
        return float(math.log(far / near) - math.log(quantiles[1] / quantiles[0]))

    freedom = math.exp(scipy.optimize.brentq(excess, 0.0, 12.0))
    return Fit(shapes.peers, freedom, -near / float(scipy.special.stdtrit(freedom, levels[0])))


def checks(shapes: Shapes, levels: Sequence[float]) -> list[Check]:
    """Compare limits with simulated tails."""
    found = []
    for level in levels:
        limit = tails.critical(level, peers=shapes.peers, runs=1, share=0)
        found.append(Check(shapes.peers, level, limit, shapes.beyond(limit)))
    return found
