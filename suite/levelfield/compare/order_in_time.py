"""Whether the runs of two sides could be exchanged: in which order in time they were made.

A comparison of runs takes the runs of one side as a sample of what that side does. Where all old runs were made on one
day and all new ones on another, whatever differs between the days (neighbours on a shared machine, its temperature, its
memory) is part of the difference between the sides, and no interval over runs covers it. Where runs are made in turns
(old, new, new, old, ...), a step of the machine falls on both sides alike.

How much of a step shows follows from the order alone. A step between two moments shifts each side's mean by its size
times the share of that side's runs that follow it. So the ratio holds the step times the difference of these shares,
and the largest difference over all moments is the Kolmogorov-Smirnov distance of the two sides' times.

Simulated (`tests/compare/test_order_in_time.py`), with three runs a side that scatter by 1 % and a step of 2 % of the
machine: 9 % of comparisons of two lumps call a change of something that did not change (42 % with five runs a side); of
comparisons of runs made in turns at most 1 % do.

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


def share_of_step(old: Sequence[str], new: Sequence[str]) -> float | None:
    """Return the largest share of a step of the machine that could show as a difference between two sides.

    Returns 1 where all runs of one side were made before all of the other; 1 / n for n runs a side in turns. None where
    a time cannot be read, or a side has no run.
    """
    sides = _times(old), _times(new)
    if not sides[0] or not sides[1]:
        return None
    moments = np.concatenate(sides)
    shares = [np.searchsorted(np.sort(side), moments, side="right") / len(side) for side in sides]
    return float(np.abs(shares[0] - shares[1]).max())


def _times(started: Sequence[str]) -> list[float]:
    """Return moments in seconds; none where one cannot be read."""
    try:
        return [datetime.fromisoformat(each).timestamp() for each in started]
    except (ValueError, OverflowError, OSError):
        return []


def order_of(share: float | None) -> Order:
    """Name the order in which the runs of two sides were made, from the share of a step that shows."""
    if share is None:
        return "unknown"
    return "lumps" if share >= 1 else "turns" if share <= TURNS else "uneven"


def sentence(share: float | None, runs: int) -> str:
    """Say what the order of the runs means for a change that is reported."""
    advice = f"Make runs of both sides in turns: old, new, new, old, until there are {runs} of each."
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
