"""How far the level of a node lies from that of its peers by chance: the tails, to one in a hundred million.

**The level.** A node's level in a case is the median of its runs' logarithms. Between like nodes it scatters normally,
within a node runs scatter with tails up to those of Student's t with three degrees of freedom. The mean of five such
runs has the tails of one; of their median, three have to be off: P(median > x) falls as x^-9 and not as x^-3. At one in
a million, the limit for the median of five is 6 standard deviations of a run, that for their mean 20.

**The distance.** It is in units of the spread between peers, which is estimated (`statistics.peers`). Distances
of a normal level from the median of m peers, over their spread, follow `stretch` t with `freedom` degrees of freedom:
both are fitted to the tails at 10^-3 and 10^-6, which were simulated given the shape of the peers, so that their size
and the node's own value are exact. Here the same estimate of the spread meets a level with heavier tails: a mixture, in
which the runs have a `share` of the variance.

References
----------
W. S. Gosset (1908). The probable error of a mean. Biometrika 6, 1–25.
H. A. David, H. N. Nagaraja (2003). Order Statistics, 3rd ed., section 2.1 (distribution of a median).
"""

import functools
import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import scipy
from numpy.typing import ArrayLike, NDArray

from levelfield.statistics.arrays import Floats
from levelfield_fleet.statistics.peers import DISTANCE

SHARES = (0.0, 0.02, 0.05, 0.1, 0.2, 0.35, 0.5, 0.7, 1.0)
"""Shares of the variance that runs can have; one in between counts as the next, whose tails are heavier."""
MOST_RUNS = 9
"""More runs count as so many: the tails of their median are hardly lighter."""
_FEWEST = 3
_FITS = (
    (2.00, 0.818),
    (3.00, 0.763),
    (2.97, 0.819),
    (4.05, 0.951),
    (4.92, 0.976),
    (5.31, 0.909),
    (6.21, 0.928),
    (7.40, 0.988),
    (8.05, 0.987),
    (8.87, 0.968),
    (9.54, 0.967),
    (10.38, 0.985),
    (11.28, 0.990),
    (12.12, 0.979),
    (12.90, 0.982),
    (13.79, 0.992),
)
"""Freedom and stretch for 3 peers and more, fitted by `shapes` in the tests; beyond the last, by a formula."""
_HEAVY = 3
"""Degrees of freedom of the scatter of runs."""
_FURTHEST = 12.0
"""Inverse hyperbolic sine of the largest distance: 81,000."""


@dataclass(frozen=True)
class Tail:
    """A symmetrical distribution whose spread, by pairs of its values, is 1."""

    place: Floats
    """Inverse hyperbolic sine of distances from its centre, from 0 on."""
    log_beyond: Floats
    """Logarithm of the probability of more."""

    def beyond(self, distance: Floats) -> Floats:
        """Return the probability of a value beyond `distance`, which may be negative."""
        upper = np.exp(np.interp(np.arcsinh(np.abs(distance)), self.place, self.log_beyond))
        found: Floats = np.where(distance >= 0, upper, 1 - upper)
        return found


def share_index(share: Floats) -> NDArray[np.intp]:
    """Return the place in `SHARES` of the next one that is not smaller; NaN, which is not known, counts as 1."""
    return np.minimum(np.searchsorted(np.array(SHARES), np.nan_to_num(share, nan=1.0)), len(SHARES) - 1)


def odd(runs: int) -> int:
    """Return the number of runs whose median has tails no lighter: the next lower odd one, `MOST_RUNS` at most."""
    return min(runs - 1 + runs % 2, MOST_RUNS)


@functools.cache
def tail(runs: int, share: int) -> Tail:
    """Return the distribution of a node's level around that of like nodes, the worst that is allowed for.

    `runs`: whose median the level is; odd. `share`: place in `SHARES` of their part of the variance.
    """
    place = np.linspace(0.0, _FURTHEST, 601)
    distance = np.sinh(place)
    part = SHARES[share]
    if not part:
        return Tail(place, scipy.special.log_ndtr(-distance))
    centre, weight, unit = _median_of_runs(runs)
    if part == 1:
        return Tail(place, np.log(_median_beyond(distance * unit, runs)))
    steps = math.sqrt(part) * centre / unit
    beyond = scipy.special.ndtr((steps - distance[:, None]) / math.sqrt(1 - part)) @ weight
    unit = _unit_of(Tail(place, np.log(np.maximum(beyond, 1e-300))))
    return Tail(np.arcsinh(distance / unit), np.log(np.maximum(beyond, 1e-300)))


def exceeded(limits: ArrayLike, *, peers: int, runs: int, share: int, shift: float = 0.0) -> Floats:
    """Return the probability that a node lies above a limit, in units of the estimated spread.

    `limits`, shape (n,): distances from the median of the peers over their spread. `peers`, `runs`, `share`: how many
    peers; the others as `tail` takes them. `shift`: true distance of the node from its peers, in units of their true
    spread.
    """
    size, weight = _sizes(peers)
    expected = math.sqrt(1 + median_variance(peers))
    at = np.multiply.outer(np.asarray(limits, dtype=np.float64), size / stretch(peers)) - shift / expected
    found: Floats = tail(odd(runs), share).beyond(at) @ weight
    return found


@functools.lru_cache(maxsize=4096)
def critical(level: float, *, peers: int, runs: int, share: int) -> float:
    """Return the limit above which a node lies with a probability of `level`, in units of the estimated spread.

    `level`: one-sided, between 0 and 1/2. `peers`, `runs`, `share`: as `exceeded` takes them.
    """
    return _root(lambda limit: math.log(max(exceeded([limit], peers=peers, runs=runs, share=share)[0], 1e-300) / level))


@functools.lru_cache(maxsize=4096)
def needed(limit: float, power: float, *, peers: int, runs: int, share: int) -> float:
    """Return the true distance that is found with a probability of `power`, in units of the true spread.

    `limit`: from `critical`. `power`: probability of finding it. `peers`, `runs`, `share`: as `exceeded` takes them.
    """
    return _root(
        lambda shift: power - float(exceeded([limit], peers=peers, runs=runs, share=share, shift=shift)[0]),
    )


def median_variance(count: int) -> float:
    """Return the variance of the median of so many standard normal values, within 1 % of the exact one."""
    if count < 3:
        return 1 / count
    return math.pi / (2 * count + (1 if count % 2 else 2.5))


def freedom(peers: int) -> float:
    """Return the degrees of freedom of the spread between so many peers, at least 3."""
    return _FITS[peers - _FEWEST][0] if peers - _FEWEST < len(_FITS) else 0.863 * peers - 1.6


def stretch(peers: int) -> float:
    """Return the factor on Student's t that a distance from the median of so many peers, at least 3, follows."""
    return _FITS[peers - _FEWEST][1] if peers - _FEWEST < len(_FITS) else 1.0


def _root(falling: Callable[[float], float]) -> float:
    top = 1.0
    while falling(top) > 0 and top < 1e12:
        top *= 2
    return float(scipy.optimize.brentq(falling, 0.0, top, rtol=1e-6)) if falling(top) <= 0 else math.inf


@functools.lru_cache(maxsize=256)
def _sizes(peers: int) -> tuple[Floats, Floats]:
    """Return sizes of a spread over its true one, and the probability of each: chi over the root of its freedom."""
    nu = freedom(peers)
    reach = math.sqrt(45 / nu)
    log_size = np.linspace(-reach - 45 / nu, reach, 257)
    exponent = nu * (log_size - np.exp(2 * log_size) / 2)
    weight = np.exp(exponent - exponent.max())
    return np.exp(log_size), weight / weight.sum()


def _median_beyond(distance: Floats, runs: int) -> Floats:
    """Return the probability that the median of an odd number of runs is beyond a distance, in units of Student's t."""
    half = (runs + 1) // 2
    beyond: Floats = scipy.special.betainc(half, half, scipy.special.stdtr(_HEAVY, -distance))
    return beyond


@functools.cache
def _median_of_runs(runs: int) -> tuple[Floats, Floats, float]:
    """Return values of the median of heavy-tailed runs, the probability of each, and its spread by pairs."""
    place = np.linspace(0.0, _FURTHEST, 1501)
    beyond = _median_beyond(np.sinh(place), runs)
    upper = np.sinh((place[1:] + place[:-1]) / 2)
    weight = -np.diff(beyond)
    unit = _unit_of(Tail(place, np.log(beyond)))
    return np.concatenate([-upper[::-1], upper]), np.concatenate([weight[::-1], weight]), unit


def _unit_of(found: Tail) -> float:
    """Return the median distance of two values over that of normal noise."""
    at = np.sinh(np.linspace(0.0, _FURTHEST, 1501))
    middle, weight = (at[1:] + at[:-1]) / 2, -np.diff(found.beyond(at))

    def more(distance: float) -> float:  # than a quarter of differences are above the median distance
        above = found.beyond(distance - middle) + found.beyond(distance + middle)
        return float(above @ weight) - 0.25

    return float(scipy.optimize.brentq(more, 0.0, 100.0)) / DISTANCE
