"""Which windows of a block count: those of undisturbed rounds, from the point at which an arm was warm.

Two rules. Neither depends on which arm is faster; the second applies to the windows that the first leaves.

1. Rounds that outside signals call disturbed are left out (`statistics.counting`).
2. Where the launches of an arm start slowly, the same first rounds of all of them are left out
   (`statistics.warming`).

No window is left out for its own time, or for the times of its launch alone. A rule that judged each launch by itself
would leave out slow windows of a noisy arm more often than of a steady one, which makes the noisy arm look faster; and
it would differ from launch to launch, so that pairs of launches would be compared over unlike rounds. What is slow in
some launches of an arm and not in others is part of its spread, and the interval over launches covers it.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from levelfield.statistics.arrays import finite_or_missing
from levelfield.statistics.student import MIN_LAUNCHES
from levelfield.statistics.warming import Start, find_slow_starts


def counted_rounds(disturbed: Sequence[Sequence[bool]]) -> list[list[bool]]:
    """Say of every round whether it counts.

    Disturbed rounds are left out. A generation that has no other is left out whole where enough generations have some:
    a launch that was only measured beside another program is worth less than none. Beside a process that took one of
    two CPUs half of the time, the standard deviation of a pair's log ratio fell from 21 % to 4 % (`studies/rigor`,
    `reports/trials/`). Where fewer than `MIN_LAUNCHES` generations are undisturbed, such a generation counts
    all the same, as the only thing there is.

    Whether a round is disturbed follows from outside signals, never by the timings; so what is left out does not depend
    on what it said.

    Parameters
    ----------
    disturbed
        For each generation, for each of its rounds; generations may have different numbers of rounds, or none.

    Returns
    -------
    list of list of bool
        In the same shape.
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

    Parameters
    ----------
    log_windows : array_like, shape (generations, rounds, arms), log of time
        Log of each window's median call, rounds in the order in which they were taken; NaN where there is none.
    disturbed
        For each generation, for each of its rounds, whether it was disturbed from outside. A generation may have fewer
        rounds than the array has columns.
    canary : array_like, shape (generations, rounds), log of time, optional
        The same of the canary.

    Raises
    ------
    UnusableData
        Infinite values, or a wrong number of dimensions.
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
