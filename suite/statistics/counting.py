"""Which windows of a block count: those of undisturbed rounds, from the point at which a launch was warm.

Three rules. None depends on which arm is faster; the second and the third apply to the windows that the first leaves.

1. Rounds that outside signals call disturbed are left out (`suite.statistics.undisturbed`).
2. Where a launch has enough windows to show it, those before it settled are left out (`suite.statistics.steady`).
3. Where the launches of an arm start slowly, their first rounds are left out (`suite.statistics.warming`).
"""

import functools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from suite.statistics.arrays import Floats, finite_or_missing, without_missing
from suite.statistics.levels import common_drift
from suite.statistics.steady import Course, SteadyState, steady_state
from suite.statistics.undisturbed import counted_rounds
from suite.statistics.warming import Start, find_slow_starts


@dataclass(frozen=True)
class Counting:
    """Which windows count, and why the others do not."""

    rounds: NDArray[np.bool_]
    """Shape (generations, rounds): rounds that count, by outside signals alone."""
    windows: NDArray[np.bool_]
    """Shape (generations, rounds, arms): windows that count. It is true only where there is a window."""
    steady: tuple[tuple[SteadyState | None, ...], ...]
    """By arm and generation; None where the launch has too few windows to tell."""
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
    steady, starts = _steady_states(undisturbed), find_slow_starts(undisturbed, canary=fixed)
    for arm, states in enumerate(steady):
        for generation, state in enumerate(states):
            if state is not None:
                windows[generation, np.flatnonzero(windows[generation, :, arm])[: state.left_out], arm] = False
    for arm, start in enumerate(starts):
        if start.slow_rounds:
            _leave_out_start(windows[:, :, arm], start.slow_rounds)
    return Counting(rounds, windows, steady, starts)


def _leave_out_start(windows: NDArray[np.bool_], slow_rounds: int) -> None:
    """Leave out an arm's slow first rounds, in place; a launch with no others, by the rule for disturbed rounds."""
    slow = [[int(index) < slow_rounds for index in np.flatnonzero(launch)] for launch in windows]
    for launch, counting in zip(windows, counted_rounds(slow), strict=True):
        launch[np.flatnonzero(launch)] = counting


def _steady_states(logs: Floats) -> tuple[tuple[SteadyState | None, ...], ...]:
    """Judge of every launch whether and when it settled, on its windows with the rounds' common drift removed.

    A machine that slows down for a minute slows all arms of a round alike; only what an arm does apart from the others
    is its own warming up.
    """
    own = np.exp(logs - common_drift(logs))
    return tuple(
        tuple(_state(own[generation, :, arm]) for generation in range(logs.shape[0])) for arm in range(logs.shape[2])
    )


def _state(times: Floats) -> SteadyState | None:
    return _state_of(tuple(without_missing(times).tolist()))


@functools.lru_cache(maxsize=4096)
def _state_of(times: tuple[float, ...]) -> SteadyState | None:
    """Judge a launch once: the results of a block and every insight that compares its arms ask about the same one."""
    state = steady_state(times) if times else None
    return None if state is None or state.course is Course.TOO_FEW else state
