"""Whether the runs of two sides could be exchanged: in which order in time they were made.

A comparison of runs takes the runs of one side as a sample of what that side does. Where all old runs were made on one
day and all new ones on another, whatever differs between the days (neighbours on a shared machine, its temperature, its
memory) is part of the difference between the sides, and no interval over runs covers it. Where runs are made in turns
(old, new, new, old, ...), a step of the machine falls on both sides alike. From `MIN_PAIRS` on, such runs are compared
pair by pair: what the machine did to both runs of a pair cancels, instead of widening the interval.

How much of a step shows follows from the order alone. A step between two moments shifts each side's mean by its size
times the share of that side's runs that follow it. So the ratio holds the step times the difference of these shares,
and the largest difference over all moments is the Kolmogorov-Smirnov distance of the two sides' times.

Simulated (`tests/compare/test_order_in_time.py`), with three runs a side that scatter by 1 % and a step of 2 % of the
machine: 9 % of comparisons of two lumps call a change of something that did not change (42 % with five runs a side); of
comparisons of runs made in turns at most 1 % do. Five pairs, each on a day of its own, days that scatter by 2 %: the
99 % interval is 0.6 times as wide as that of ten runs without their pairs.

References
----------
R. A. Fisher (1935). The Design of Experiments, ch. 3 and 4 (randomisation and blocks).
"""

from collections.abc import Sequence
from datetime import datetime

import numpy as np

from levelfield.compare.types import Order

TURNS = 0.5
"""Largest share of a step that shows where runs count as made in turns."""

MIN_PAIRS = 5
"""Fewest pairs that are compared pair by pair. A difference of pairs has half of the degrees of freedom: with three
pairs, its 99 % interval is the wider one unless the runs of a pair correlate by more than 0.79 (five: 0.47)."""


def share_of_step(old: Sequence[str], new: Sequence[str]) -> float | None:
    """Return the largest share of a step of the machine that could show as a difference between two sides.

    Returns 1 where all runs of one side were made before all of the other; 1 / n for n runs a side in turns. None where
    a time cannot be read, or a side has no run.

    Examples
    --------
    >>> share_of_step(["2026-11-01T10:00Z", "2026-11-01T11:00Z"], ["2026-11-02T10:00Z", "2026-11-02T11:00Z"])
    1.0
    >>> share_of_step(["2026-11-01T10:00Z", "2026-11-01T13:00Z"], ["2026-11-01T11:00Z", "2026-11-01T12:00Z"])
    0.5
    """
    sides = moments(old), moments(new)
    if not sides[0] or not sides[1]:
        return None
    both = np.concatenate(sides)
    shares = [np.searchsorted(np.sort(side), both, side="right") / len(side) for side in sides]
    return float(np.abs(shares[0] - shares[1]).max())


def moments(started: Sequence[str]) -> list[float]:
    """Return moments in seconds; none where one cannot be read."""
    try:
        return [datetime.fromisoformat(each).timestamp() for each in started]
    except (ValueError, OverflowError, OSError):
        return []


def pairs_in_turns(old: Sequence[str], new: Sequence[str]) -> tuple[tuple[int, int], ...]:
    """Return the pairs of runs of two sides that were made in turns, such as old, new, new, old.

    In order of time, every two runs hold one of either side, and either side comes first in half of them (all but half
    where their number is odd). Where one side always came first, a steady drift of the machine would be in each
    difference alike, and pairs would show it as a change.

    Returns index of the old and of the new run, in order of time. None where the runs form no such pairs.

    Examples
    --------
    >>> pairs_in_turns(["2026-11-01T10:00Z", "2026-11-01T13:00Z"], ["2026-11-01T11:00Z", "2026-11-01T12:00Z"])
    ((0, 0), (1, 1))
    """
    order = sorted((time, side, run) for side, runs in enumerate((old, new)) for run, time in enumerate(moments(runs)))
    pairs = list(zip(order[::2], order[1::2], strict=False))
    firsts = [first[1] for first, _ in pairs]
    if len(order) != 2 * len(old) or any(first[1] == second[1] for first, second in pairs):
        return ()
    if abs(sum(firsts) - len(firsts) / 2) > 1 / 2:
        return ()
    return tuple((second[2], first[2]) if first[1] else (first[2], second[2]) for first, second in pairs)


def order_of(share: float | None) -> Order:
    """Name the order in which the runs of two sides were made, from the share of a step that shows."""
    if share is None:
        return "unknown"
    return "lumps" if share >= 1 else "turns" if share <= TURNS else "uneven"


def sentence(share: float | None, runs: int) -> str:
    """Say what the order of the runs means for a change that is reported."""
    advice = f"Make runs of both sides in turns: old, new, new, old, until there are {max(runs, MIN_PAIRS)} of each."
    match order_of(share):
        case "unknown":
            return (
                "When runs were made is not known, so whether a step of the machine looks like a change is not either."
            )
        case "lumps":
            return (
                "All runs of one side were made before all runs of the other: a step of the machine between them looks "
                f"like a change, and no interval here covers it. {advice}"
            )
        case "uneven":
            return (
                "Runs of the two sides are not evenly spread in time: up to "
                f"{100 * (share or 0):.0f} % of a step of the machine looks like a change. {advice}"
            )
        case "turns":
            return (
                "Runs of both sides were made in turns: at most "
                f"{100 * (share or 0):.0f} % of a step of the machine shows in a ratio, and it widens the interval."
            )
