"""Which windows of a block count: those of undisturbed rounds, from the point at which an arm was warm.

Two rules. Neither depends on which arm is faster; the second applies to the windows that the first leaves.

1. Rounds that outside signals call disturbed are left out.
2. Where the launches of an arm start slowly, the same first rounds of all of them are left out.

No window is left out for its own time, or for the times of its launch alone. A rule that judged each launch by itself
would leave out slow windows of a noisy arm more often than of a steady one, which makes the noisy arm look faster; and
it would differ from launch to launch, so that pairs of launches would be compared over unlike rounds. What is slow in
some launches of an arm and not in others is part of its spread, and the interval over launches covers it.

**Slow starts.** Programs do not simply warm up after N calls (Barrett et al. 2017), so nothing is skipped by count. One
launch with a few windows cannot show whether its first was slow; but what is true of a program is true of each of its
launches. So the first round of every launch is compared with the last rounds of the same launch, and the differences
are tested over launches, the unit of replication.

A machine that slows down or recovers between two rounds does so for all columns of a round. Therefore each arm's
difference is taken relative to the median difference of all other columns, the canary among them. Where most arms
start slowly, that median starts slowly too, and no arm stands out. So a second test compares the typical arm with the
canary alone, which runs through all generations and is always warm.

      first    last                     one-sided t test over launches:
     ──┐                                  (first − last) of the arm − (first − last) of the other columns > 0?
       └────────┴──  arm
     ──────────────  other arms, canary

Where a round is found slow it is left out, and the next is tested in the same way, until one is not slow or only the
last is left. As each test is made only after the one before it rejected, the error rate of the sequence is that of its
first test (a fixed sequence of hypotheses: Maurer, Hothorn & Lehmacher 1995).

References
----------
E. Barrett, C. F. Bolz-Tereick, R. Killick, S. Mount, L. Tratt (2017). Virtual machine warmup blows hot and cold.
OOPSLA '17, article 52 (why warm-up must be judged).
W. Maurer, L. Hothorn, W. Lehmacher (1995). Multiple comparisons in drug clinical trials and preclinical assays: a
priori ordered hypotheses. In: Biometrie in der chemisch-pharmazeutischen Industrie 6, 3–18.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import msgspec
import numpy as np
import scipy
from numpy.typing import ArrayLike, NDArray

from levelfield.statistics.arrays import Floats, finite_or_missing, median_of_present, without_missing
from levelfield.statistics.student import MIN_LAUNCHES, spread_of

ALPHA = 0.01
"""Of the arms that start no slower than the others and the canary, at most this share is called slow."""

OWN_SHARE = 0.75
"""Share of `ALPHA` that the test against the other columns gets, the rest goes to that against the canary: what one arm
does apart from the others tilts ratios; what all do together cancels in them."""

FEWEST_TESTED = 4
"""Fewest launches that are tested. With three, the quantile of t is 7.0, and only a start several times as slow as the
spread between launches would be found."""

TOLERANCE = 0.01
"""A slow start below this, on the log scale, is not looked for: it cannot carry a ratio over a margin of 2 %."""


class Start(msgspec.Struct, frozen=True):
    """How the launches of one arm started."""

    slow_rounds: int
    """Rounds at the start that are slower than the last ones; 0: none was shown to be."""
    settled: bool
    """False: no two rounds are left that could be compared, so nothing shows that what is left is settled."""
    excess: float | None = None
    """By how much the first round is slower than the last ones, log scale, mean over launches; None where no round was
    found slow."""


def find_slow_starts(log_windows: ArrayLike, *, canary: ArrayLike | None = None) -> tuple[Start, ...]:
    """Test across the launches of each arm whether its first rounds are slow.

    `log_windows`, shape (generations, rounds, arms), log of time: in the order in which the rounds were taken; NaN
    where a window is missing or does not count. `canary`, shape (generations, rounds), log of time, optional: the same
    of a workload that is always warm. Returns: one for each arm. Raises UnusableData: infinite values, or a wrong
    number of dimensions.
    """
    windows = finite_or_missing(log_windows, dimensions=3, what="windows")
    rounds, arms = windows.shape[1:]
    fixed = None if canary is None else finite_or_missing(canary, dimensions=2, what="canary's windows")
    columns = windows if fixed is None else np.concatenate((windows, fixed[:, :, None]), axis=2)
    found = [Start(0, settled=True)] * arms
    slow = list(range(arms))
    for index in range(rounds):
        excess = _excess(columns, index)
        against = excess - excess[:, arms:] if fixed is not None else None
        common = None if against is None else _mean_and_p(_typical(against[:, slow]))
        share = 1.0 if against is None else OWN_SHARE
        still = []
        for arm in slow:
            if np.isnan(columns[:, index, arm]).all():  # it has its windows in later rounds, if any
                still.append(arm)
                continue
            own = _mean_and_p(excess[:, arm] - _typical(np.delete(excess, arm, axis=1)))
            if own is None:
                found[arm] = msgspec.structs.replace(found[arm], settled=not found[arm].slow_rounds)
                continue
            slowdowns = [own[0]] if own[1] < share * ALPHA else []
            if against is not None and common is not None and common[1] < (1 - share) * ALPHA:
                alone = float(np.nanmean(against[:, arm]))
                slowdowns += [alone] if alone > common[0] / 2 else []  # it does what the typical arm does
            if max(slowdowns, default=0.0) > TOLERANCE:
                still.append(arm)
                found[arm] = Start(index + 1, settled=True, excess=found[arm].excess or max(slowdowns))
        slow = still
        if not slow:
            break
    return tuple(found)


def _excess(columns: Floats, index: int) -> Floats:
    """By how much a round is slower than the last half of its launch's rounds, shape (generations, columns)."""
    left = ~np.isnan(columns)
    left[:, :index] = False
    from_the_end = left[:, ::-1].cumsum(axis=1)[:, ::-1]
    last = left & (from_the_end <= left.sum(axis=1, keepdims=True) // 2)
    return columns[:, index] - _typical(np.where(last, columns, np.nan))


def _typical(values: Floats) -> Floats:
    """Median along axis 1, NaN left out; 0 where there is nothing along it to compare with."""
    if not values.shape[1]:
        return np.zeros(values.shape[0])
    return median_of_present(values, axis=1)


def _mean_and_p(differences: Floats) -> tuple[float, float] | None:
    """Return the mean over launches and the one-sided p value of *it is not above zero*; None with too few launches."""
    values = without_missing(differences)
    if values.size < FEWEST_TESTED:
        return None
    mean, spread = float(values.mean()), spread_of(values)
    if spread == 0:
        return mean, 0.0 if mean > 0 else 1.0
    return mean, float(scipy.special.stdtr(values.size - 1, -mean / (spread / math.sqrt(values.size))))


def counted_rounds(disturbed: Sequence[Sequence[bool]]) -> list[list[bool]]:
    """Say of every round whether it counts.

    Disturbed rounds are left out. A generation that has no other is left out whole where enough generations have some:
    a launch that was only measured beside another program is worth less than none. Beside a process that took one of
    two CPUs half of the time, the standard deviation of a pair's log ratio fell from 21 % to 4 % (`studies/rigor`,
    `reports/trials/`). Where fewer than `MIN_LAUNCHES` generations are undisturbed, such a generation counts
    all the same, as the only thing there is.

    Whether a round is disturbed follows from outside signals, never by the timings; so what is left out does not depend
    on what it said.

    `disturbed`: for each generation, for each of its rounds; generations may have different numbers of rounds, or none.
    Returns: in the same shape.
    """
    undisturbed = [[not each for each in generation] for generation in disturbed]
    if sum(map(any, undisturbed)) >= MIN_LAUNCHES:
        return undisturbed
    return [generation if any(generation) else [True] * len(generation) for generation in undisturbed]


@dataclass(frozen=True)
class Counting:
    """Which windows count, and why the others do not."""

    rounds: NDArray[np.bool_]
    """Shape (generations, rounds): rounds that count, by outside signals alone."""
    windows: NDArray[np.bool_]
    """Shape (generations, rounds, arms): windows that count. It is true only where there is a window."""
    starts: tuple[Start, ...]
    """By arm."""


def count_windows(
    log_windows: ArrayLike, disturbed: Sequence[Sequence[bool]], *, canary: ArrayLike | None = None
) -> Counting:
    """Say of every window whether it counts.

    `log_windows`, shape (generations, rounds, arms): log of each window's median call, rounds in the order in which
    they were taken; NaN where there is none. `disturbed`: for each generation, for each of its rounds, whether it was
    disturbed from outside. A generation may have fewer rounds than the array has columns. `canary`, shape (generations,
    rounds): the same of the canary. Raises UnusableData: infinite values, or a wrong number of dimensions.
    """
    logs = finite_or_missing(log_windows, dimensions=3, what="windows")
    rounds = np.zeros(logs.shape[:2], dtype=np.bool_)
    for generation, of_rounds in enumerate(counted_rounds(disturbed)):
        rounds[generation, : len(of_rounds)] = of_rounds
    windows = ~np.isnan(logs) & rounds[:, :, None]
    undisturbed = np.where(windows, logs, np.nan)
    fixed = None if canary is None else np.where(rounds, finite_or_missing(canary, dimensions=2, what="canary"), np.nan)
    starts = find_slow_starts(undisturbed, canary=fixed)
    for arm, start in enumerate(starts):
        if start.slow_rounds:
            _leave_out_start(windows[:, :, arm], start.slow_rounds)
    return Counting(rounds, windows, starts)


def _leave_out_start(windows: NDArray[np.bool_], slow_rounds: int) -> None:
    """Leave out an arm's slow first rounds, in place; a launch with no others, by the rule for disturbed rounds."""
    slow = [[int(index) < slow_rounds for index in np.flatnonzero(launch)] for launch in windows]
    for launch, counting in zip(windows, counted_rounds(slow), strict=True):
        launch[np.flatnonzero(launch)] = counting
