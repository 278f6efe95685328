"""Which nodes of a fleet are slow, fast or noisy: each against its peers, all nodes and cases at one error rate.

**A level** is the median of the logarithms of a node's runs. It is compared with the median of the levels of all
*other* nodes, in units of their spread (`statistics.peers`), which is taken to be no smaller than what the
scatter of runs within nodes leaves in a median of them. So a node cannot hide itself, and neither can several: up to
29 % of the nodes may be off in a case. Limits then are higher, since the spread of the others is.

**The error rate.** Every node that has enough peers is tested in every case, at a level that is divided by the number
of tests of the whole fleet (Bonferroni: Holm's procedure would gain less than 1 % where few of thousands are rejected,
and its intervals do not hold together). Where no node differs, the probability that any is called slow, fast or noisy
in any case is at most that level, whatever cases and nodes have in common. That supposes that like nodes differ
normally and that runs scatter within a node with tails up to those of Student's t with three degrees of freedom
(`statistics.tails`). One run of a node may lie anywhere with such tails, so a node that is beyond what normal
scatter explains and within what they do is *undecided*: more runs tell.

**The canary.** Levels are absolute, and the canary is a case like any other. Levels relative to it would find a node
that is slow in one case sooner where nodes have more than half of their variance in common with it, and would find
nothing where a node is slow as a whole, which slows its canary too (`fleets` in the tests simulates both). Nothing
measured says that they have so much in common: between two runs of one machine whose records are in `reports`, an hour
apart, the canary moved by 11 % and 33 cases by 7.3 % in the root mean square, 7.1 % relative to the canary; between two
others 6 cases moved by 13 %, and 24 % relative to it. On a GPU, it is another processor.

**Noise.** The scatter of launches within runs, and of runs within a node, is the median distance of pairs, so that a
few that are far off do not make it large. Its logarithm is compared with that of the peers, as a level is.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from levelfield.statistics.arrays import Floats, finite_or_missing, median_of_present, without_missing
from levelfield_fleet.statistics import peers, tails

LEVEL = 0.01
"""Probability that any node of a fleet of like nodes is called slow, fast or noisy in any case."""
NOISE_SHARE = 0.2
"""Part of the level that tests of scatter have; those of levels have the rest."""
MARGIN = 0.02
"""Relative deviation that does not matter."""
FEWEST_PAIRS = 10
"""Pairs of runs or launches from which a scatter is estimated: those of five."""
LEAST_SCATTER = 1e-4
"""Scatter that is not told from less: a clock's step, or a peak of memory that is the same to the page."""
MOST = 1000.0
"""Largest factor of a slowdown that is said to be found, or of an interval that is shown."""
NOISY_FACTOR = 2.0
"""A scatter that is no larger than so many times that of the peers does not matter."""

Bools = NDArray[np.bool_]


@dataclass(frozen=True)
class Levels:
    """Levels of the nodes of a group, log scale; arrays of shape (nodes, cases) unless it is said.

    NaN where a node has no run of a case. Where too few peers have one, there is a deviation and no scale.
    """

    level: Floats
    """Median of the logarithms of the runs."""
    deviation: Floats
    """From the median of the peers."""
    scale: Floats
    """Standard deviation of a like node's level."""
    runs: NDArray[np.intp]
    peers: NDArray[np.intp]
    share: NDArray[np.intp]
    """Place in `statistics.tails.SHARES` of the part of the variance that comes from runs."""
    spread: Floats
    """Shape (cases,). Between all nodes."""
    run_scatter: Floats
    """Shape (cases,). Standard deviation of runs within nodes."""

    @property
    def tested(self) -> Bools:
        """Which nodes have enough peers in which cases."""
        return ~np.isnan(self.scale)

    @property
    def tests(self) -> int:
        """Number of nodes and cases that are tested."""
        return int(self.tested.sum())

    def limits(self, level: float, *, heavy: bool = True) -> Floats:
        """Return how far a like node lies from its peers, but for a probability of `level`.

        `level`: two-sided, of one node in one case. `heavy`: whether runs may scatter with heavy tails; otherwise all
        is normal. Returns shape (nodes, cases), log scale: half-width of the interval of the deviation.
        """
        found = np.full(self.level.shape, np.nan)
        for at, design in self._designs(heavy=heavy):
            found[at] = tails.critical(level / 2, **design) * self.scale[at]
        return found

    def p_values(self, *, heavy: bool = True) -> Floats:
        """Return the two-sided p value of *the node is like its peers*, of each node in each case alone."""
        with np.errstate(divide="ignore", invalid="ignore"):
            distance = np.nan_to_num(np.abs(self.deviation) / self.scale, nan=0.0, posinf=1e30)
        found = np.full(self.level.shape, np.nan)
        for at, design in self._designs(heavy=heavy):
            found[at] = np.minimum(2 * tails.exceeded(distance[at], **design), 1.0)
        return found

    def finds(self, level: float, power: float = 0.95, *, margin: float = MARGIN) -> Floats:
        """Return the smallest slowdown of each node that is found, if its peers' spread is what it is estimated to be.

        `level`: as `limits` takes it. `power`: probability of finding it. `margin`: relative deviation that does not
        matter. Returns shape (nodes, cases): 0.05 is 5 %. Infinite where not even a factor of `MOST` is found.
        """
        found = np.full(self.level.shape, np.nan)
        for at, design in self._designs(heavy=True):
            beyond_chance = tails.needed(tails.critical(level / 2, **design), power, **design) * self.scale[at]
            above = math.log1p(margin) + tails.needed(0.0, power, **design) * self.scale[at]
            least = np.maximum(beyond_chance, above)
            found[at] = np.expm1(np.where(least > math.log(MOST), np.inf, least))
        return found

    def _designs(self, *, heavy: bool) -> list[tuple[Bools, dict[str, int]]]:
        """Return the nodes and cases that have the same limit, in units of their scale, with what it follows from."""
        columns = (self.peers, np.minimum(self.runs, tails.MOST_RUNS), self.share if heavy else 0 * self.share)
        keys = np.stack(columns, axis=-1)
        return [
            (
                self.tested & (keys == key).all(axis=-1),
                dict(zip(("peers", "runs", "share"), map(int, key), strict=True)),
            )
            for key in np.unique(keys[self.tested], axis=0)
        ]


@dataclass(frozen=True)
class Costs:
    """Costs of the nodes of a group, log scale; NaN where there is none."""

    runs: Floats
    """Shape (nodes, runs, cases)."""
    launches: Floats
    """Shape (nodes, runs, launches, cases)."""


@dataclass(frozen=True)
class Calls:
    """What levels are called; arrays of shape (nodes, cases)."""

    slow: Bools
    fast: Bools
    odd: Bools
    """Beyond what normal scatter explains, and within what heavy tails do."""
    half_width: Floats
    """Of the interval of the deviation, log scale; all intervals of a fleet hold together."""


@dataclass(frozen=True)
class Judged:
    """What is said of each node of a group in each case; arrays of shape (nodes, cases)."""

    levels: Levels
    calls: Calls
    noisy: Bools
    times_the_scatter: Floats
    """Scatter of runs or of launches over that of the peers, the larger one; NaN where neither is known."""
    finds: Floats
    """Smallest slowdown that is found with a probability of 95 %: 0.05 is 5 %; infinite where none is."""
    launch_scatter: Floats
    """Standard deviation of the launches of a run, log scale."""


def judge(groups: Sequence[Costs], *, level: float = LEVEL, margin: float = MARGIN) -> list[Judged]:
    """Judge all nodes of a fleet, each against the peers of its group.

    `groups`: nodes of like hardware. `level`: probability that any node of a fleet of like nodes is called slow, fast
    or noisy in any case. `margin`: relative deviation that does not matter. Raises UnusableData: infinite values, or
    the wrong number of dimensions.
    """
    scatters = [(compare_scatter(group.runs[:, None]), compare_scatter(group.launches)) for group in groups]
    tests = sum(each.tests for pair in scatters for each in pair)
    noisy = [[is_noisy(each, NOISE_SHARE * level / max(tests, 1)) for each in pair] for pair in scatters]
    compared = [
        compare_levels(group, own_scatter=np.where(of_runs, np.exp(pair[0].level), np.nan))
        for group, pair, (of_runs, _) in zip(groups, scatters, noisy, strict=True)
    ]
    one = (1 - NOISE_SHARE) * level / max(sum(found.tests for found in compared), 1)
    return [
        Judged(
            levels=found,
            calls=call(found, one, margin=margin),
            noisy=np.logical_or(*flags),
            times_the_scatter=np.exp(np.fmax(*(each.deviation for each in pair))),
            finds=found.finds(one, margin=margin),
            launch_scatter=np.exp(pair[1].level),
        )
        for found, flags, pair in zip(compared, noisy, scatters, strict=True)
    ]


def call(found: Levels, level: float, *, margin: float = MARGIN) -> Calls:
    """Say which levels are slow and which are fast.

    `found`: compared with their peers. `level`: of each test, two-sided. `margin`: relative deviation that does not
    matter.
    """
    half_width = found.limits(level)
    away = np.abs(found.deviation)
    matters = away > math.log1p(margin)
    beyond = matters & (away > half_width)
    return Calls(
        slow=beyond & (found.deviation > 0),
        fast=beyond & (found.deviation < 0),
        odd=matters & ~beyond & (away > found.limits(level, heavy=False)),
        half_width=half_width,
    )


def is_noisy(found: Levels, level: float) -> Bools:
    """Return which scatters are larger than those of their peers.

    `found`: from `compare_scatter`. `level`: of each test, one-sided.
    """
    beyond: Bools = found.deviation > np.maximum(found.limits(2 * level), math.log(NOISY_FACTOR))
    return beyond


def compare_levels(costs: Costs, *, own_scatter: Floats | None = None) -> Levels:
    """Compare the levels of nodes with those of their peers.

    `costs`: of the nodes of a group. `own_scatter`, shape (nodes, cases): standard deviation of the runs of nodes whose
    own scatter counts, since they are noisy; NaN for all others. Raises UnusableData: infinite values, or not three
    dimensions.
    """
    values = finite_or_missing(costs.runs, dimensions=3, what="costs of runs")
    runs = (~np.isnan(values)).sum(axis=1)
    level = median_of_present(values, axis=1)
    of_median = np.array([math.nan, *map(tails.median_variance, range(1, values.shape[1] + 1))])[runs]
    of_runs = scatter(values[None])[0] ** 2
    own = of_runs if own_scatter is None else np.fmax(of_runs, own_scatter**2)
    from_runs = of_median * own
    deviation, spread, count = _against_peers(level)
    more = np.maximum(from_runs - median_of_present(of_median, axis=0) * of_runs, 0)
    variance = spread**2 + np.nan_to_num(more)
    variance = np.fmax(np.fmax(variance, from_runs), of_median * _variance_of_launches(costs.launches))
    with np.errstate(divide="ignore", invalid="ignore"):
        share = tails.share_index(from_runs / variance)
    return Levels(
        level=level,
        deviation=deviation,
        scale=np.where(np.isnan(spread), np.nan, np.sqrt(variance)),
        runs=runs,
        peers=count,
        share=share,
        spread=np.array([peers.spread_between(without_missing(one)) for one in level.T]),
        run_scatter=np.sqrt(of_runs),
    )


def compare_scatter(values: Floats) -> Levels:
    """Compare the scatter within nodes with that of their peers, on the log scale.

    `values`, shape (nodes, groups, members, cases), log of cost: launches of runs, or runs of nodes in one group each;
    NaN where there is none. Returns: `level` is the logarithm of a standard deviation.
    """
    found = scatter(values)
    within = np.maximum((~np.isnan(values)).sum(axis=2) - 1, 0).sum(axis=1)
    level = np.log(np.maximum(found, LEAST_SCATTER))
    deviation, spread, count = _against_peers(level)
    known = np.where(np.isnan(level), np.nan, np.maximum(within, 1))
    fewer = np.maximum(median_of_present(known, axis=0) / known, 1)  # a scatter from fewer values is less certain
    return Levels(
        level=level,
        deviation=deviation,
        scale=spread * np.sqrt(fewer),
        runs=np.ones(level.shape, dtype=np.intp),
        peers=count,
        share=np.zeros(level.shape, dtype=np.intp),
        spread=np.full(level.shape[1], np.nan),
        run_scatter=np.full(level.shape[1], np.nan),
    )


def scatter(values: Floats) -> Floats:
    """Return the standard deviation within groups, from the median distance of pairs.

    `values`, shape (nodes, groups, members, cases), log of cost: NaN where there is none. Returns shape (nodes, cases):
    NaN where a node has fewer than `FEWEST_PAIRS` pairs.
    """
    nodes, _, members, cases = values.shape
    if members < 2:
        return np.full((nodes, cases), np.nan)
    first, second = np.triu_indices(members, 1)
    found = np.empty((nodes, cases))
    for case in range(cases):  # one after the other, for the memory
        one = values[..., case]
        distances = np.abs(one[:, :, first] - one[:, :, second]).reshape(nodes, -1)
        enough = (~np.isnan(distances)).sum(axis=1) >= FEWEST_PAIRS
        found[:, case] = np.where(enough, median_of_present(distances, axis=1) / peers.DISTANCE, np.nan)
    return found


def _against_peers(level: Floats) -> tuple[Floats, Floats, NDArray[np.intp]]:
    """Return deviations from the peers' median, the peers' spread, and their number; NaN where they are too few."""
    deviation, spread = np.full(level.shape, np.nan), np.full(level.shape, np.nan)
    present = ~np.isnan(level)
    count = np.maximum(present.sum(axis=0) - 1, 0)
    for case in np.flatnonzero(count):
        at = present[:, case]
        centre, between = peers.of_the_others(level[at, case])
        deviation[at, case] = level[at, case] - centre
        if count[case] >= peers.FEWEST_PEERS:
            spread[at, case] = between
    return deviation, spread, np.broadcast_to(count, level.shape)


def _variance_of_launches(launches: Floats) -> Floats:
    """Return what the scatter of launches leaves in the mean of a run's, shape (cases,); NaN where it is not known."""
    of_launches = median_of_present(scatter(launches), axis=0) ** 2
    number = (~np.isnan(launches)).sum(axis=2).astype(np.float64)
    number[number == 0] = np.nan
    return of_launches / median_of_present(number.reshape(-1, launches.shape[-1]), axis=0)
