"""False changes drawn from runs of the same thing: how far days lie apart, and what comparisons of such runs would say.

A *session* is a row of runs with no long gap between them, such as a day. The model, on the log scale, for run r of
session s and one case::

    y[s, r] = level + session[s] + run[s, r]

Comparisons are drawn in two designs. In *lumps* all runs of a side come from one session and all runs of the other
side from another. In *turns* the runs come in pairs of neighbours of one session, one for either side. Nothing differs
between the sides, so that every change that is called is false.

References
----------
S. R. Searle, G. Casella, C. E. McCulloch (1992). Variance Components, ch. 3 (one-way random model, unbalanced data).
"""

import itertools
import math
from collections.abc import Iterator, Sequence

import msgspec
import numpy as np
from numpy.typing import NDArray

from suite.compare.effects import from_runs
from suite.compare.types import Gate
from suite.compare.verdicts import change_policy, judge
from suite.statistics.arrays import Floats
from suite.statistics.verdicts import Verdict

Draw = tuple[list[int], list[int]]
"""Indices of the runs of the old side, and of the new one."""
SIMULATED = 4000
"""Comparisons that are simulated for what is expected of the estimated spreads."""


class Runs(msgspec.Struct, frozen=True):
    """Runs of the same thing, in the order of time."""

    sessions: tuple[int, ...]
    """Number of each run's session, from 0."""
    log_costs: Floats
    """Shape (runs, cases), log of nanoseconds or bytes; NaN where a run has no number for a case."""


class Spread(msgspec.Struct, frozen=True):
    """Standard deviations on the log scale (0.01 is about 1 %), pooled over cases."""

    run_sd: float | None
    """Between runs of one session; None where no session has two."""
    session_sd: float | None
    """Between sessions, beyond what runs within them explain; None where there are fewer than two."""
    sessions: int
    runs: int
    cases: int
    """Cases that two runs or more have a number for."""


class Tally(msgspec.Struct, frozen=True):
    """What became of the comparisons of one design."""

    comparisons: int
    """Drawn; they share runs, so that they are not independent."""
    with_change: int
    """Comparisons in which any case was called changed."""
    rows: int
    changed: int
    """Rows that were called changed."""
    session_pairs: int
    """Pairs of sessions, or sessions in turns, that comparisons were drawn from: how much independent evidence there
    is."""


def sessions(seconds: Sequence[float], gap_s: float) -> tuple[int, ...]:
    """Number the sessions of runs that are in the order of time: a new one begins after a gap.

    Parameters
    ----------
    seconds : sequence of float
        When each run began.
    gap_s : float
        A pause that ends a session, seconds.

    Returns
    -------
    tuple of int
        Number of each run's session, from 0.

    Examples
    --------
    >>> sessions([0, 600, 1200, 90_000, 90_600], 3600)
    (0, 0, 0, 1, 1)
    """
    gaps = np.diff(np.asarray(seconds, dtype=np.float64)) > gap_s
    return tuple(int(each) for each in np.concatenate([[0], np.cumsum(gaps)])) if len(seconds) else ()


def spread(runs: Runs) -> Spread:
    """Estimate how far runs and sessions lie apart (analysis of variance, pooled over cases; below zero is 0)."""
    numbers = np.array(runs.sessions)
    within, freedom, between, weight, groups, cases = 0.0, 0, 0.0, 0.0, 0, 0
    for column in runs.log_costs.T:
        there = ~np.isnan(column)
        values, indices = column[there], numbers[there]
        if values.size < 2:
            continue
        cases += 1
        parts = [values[indices == each] for each in np.unique(indices)]
        within += sum(float(((part - part.mean()) ** 2).sum()) for part in parts)
        freedom += values.size - len(parts)
        between += sum(part.size * float(part.mean() - values.mean()) ** 2 for part in parts)
        weight += values.size - sum(part.size**2 for part in parts) / values.size
        groups += len(parts) - 1
    of_runs = within / freedom if freedom else None
    of_sessions = max((between - groups * of_runs) / weight, 0.0) if weight and of_runs is not None else None
    return Spread(
        run_sd=None if of_runs is None else math.sqrt(of_runs),
        session_sd=None if of_sessions is None else math.sqrt(of_sessions),
        sessions=len(set(runs.sessions)),
        runs=len(runs.sessions),
        cases=cases,
    )


def lumps(runs: Runs, a_side: int, draws: int, rng: np.random.Generator) -> Iterator[tuple[int, Draw]]:
    """Draw comparisons of runs of one session with runs of another; each with the number of its pair of sessions.

    Parameters
    ----------
    runs : Runs
        Of the same thing.
    a_side : int
        Runs of either side.
    draws : int
        Comparisons to draw, from each pair.
    rng : Generator
        Of random numbers.
    """
    enough = [indices for indices in _members(runs) if indices.size >= a_side]
    for number, (first, second) in enumerate(itertools.combinations(enough, 2)):
        for _ in range(draws):
            yield number, (_some(first, a_side, rng), _some(second, a_side, rng))


def turns(runs: Runs, a_side: int, draws: int, rng: np.random.Generator) -> Iterator[tuple[int, Draw]]:
    """Draw comparisons of neighbours in time, from all sessions together; which is old is drawn for each pair.

    Parameters
    ----------
    runs : Runs
        Of the same thing.
    a_side : int
        Runs of either side.
    draws : int
        Comparisons to draw.
    rng : Generator
        Of random numbers.
    """
    members = _members(runs)
    if sum(indices.size // 2 for indices in members) < a_side:
        return
    for _ in range(draws):
        pairs = [pair for indices in members for pair in _neighbours(indices, rng)]
        if len(pairs) < a_side:
            continue
        chosen = [pairs[i] for i in rng.permutation(len(pairs))[:a_side]]
        turned = [pair[::-1] if rng.random() < 0.5 else pair for pair in chosen]
        yield 0, ([pair[0] for pair in turned], [pair[1] for pair in turned])


def tally(runs: Runs, drawn: Iterator[tuple[int, Draw]], gate: Gate) -> Tally | None:
    """Judge drawn comparisons as `compare` does; None where nothing could be drawn.

    Parameters
    ----------
    runs : Runs
        Of the same thing.
    drawn : iterator of tuple
        Number of the pair of sessions, and the comparison.
    gate : Gate
        Margin and false discovery rate.

    Returns
    -------
    Tally or None
    """
    comparisons = with_change = rows = changed = 0
    pairs = set()
    for number, (old, new) in drawn:
        first, second = runs.log_costs[old], runs.log_costs[new]
        there = ~(np.isnan(first).any(axis=0) | np.isnan(second).any(axis=0))
        if not there.any():
            continue
        effects = [from_runs(np.exp(a), np.exp(b)) for a, b in zip(first[:, there].T, second[:, there].T, strict=True)]
        called = sum(each.verdict not in _NO_CHANGE for each in judge(effects, change_policy(gate)))
        pairs.add(number)
        comparisons, with_change = comparisons + 1, with_change + bool(called)
        rows, changed = rows + len(effects), changed + called
    return Tally(comparisons, with_change, rows, changed, len(pairs)) if comparisons else None


def expected(found: Spread, a_side: int, gate: Gate, rng: np.random.Generator) -> tuple[float, float] | None:
    """Simulate one case with the estimated spreads: the share called changed, in lumps and in turns.

    Lumps are of two sessions; in turns every pair of runs is of a session of its own.

    Parameters
    ----------
    found : Spread
        Estimated from runs.
    a_side : int
        Runs of either side.
    gate : Gate
        Margin and false discovery rate.
    rng : Generator
        Of random numbers.

    Returns
    -------
    tuple of float or None
        None where a spread is not known.
    """
    if not found.run_sd or found.session_sd is None:
        return None
    shares = []
    for shape in ((2, 1), (1, a_side)):  # one shift for each side; one for each pair
        called = 0
        for _ in range(SIMULATED):
            shift = rng.normal(0.0, found.session_sd, shape) if found.session_sd else np.zeros(shape)
            old, new = np.broadcast_to(shift, (2, a_side)) + rng.normal(0.0, found.run_sd, (2, a_side))
            (judged,) = judge([from_runs(np.exp(old), np.exp(new))], change_policy(gate))
            called += judged.verdict not in _NO_CHANGE
        shares.append(called / SIMULATED)
    return shares[0], shares[1]


_NO_CHANGE = (Verdict.SAME, Verdict.INCONCLUSIVE)


def _members(runs: Runs) -> list[NDArray[np.intp]]:
    """Return the indices of the runs of each session."""
    return [np.flatnonzero(np.array(runs.sessions) == number) for number in sorted(set(runs.sessions))]


def _some(indices: NDArray[np.intp], count: int, rng: np.random.Generator) -> list[int]:
    return [int(each) for each in rng.permutation(indices)[:count]]


def _neighbours(indices: NDArray[np.intp], rng: np.random.Generator) -> list[tuple[int, int]]:
    """Pair the runs of a session with their neighbours, from the first or from the second run on."""
    begin = int(rng.integers(0, 2)) if indices.size % 2 else 0
    paired = indices[begin : begin + 2 * ((indices.size - begin) // 2)]
    return [(int(first), int(second)) for first, second in paired.reshape(-1, 2)]
