"""What a reader of a comparison with a derived gate must know before the numbers."""

import math
from collections.abc import Iterator, Sequence
from datetime import datetime

from levelfield.compare.reduction import Reduced
from levelfield.compare.types import Derived, Row
from levelfield.report import units

DAY_APART_S = 12 * 3600.0
"""Runs that begin so long apart are of two days, whatever the calendar says."""
FEW_DAYS = 2
"""Days of a gate's runs from which, and below, the rate of false alarms on another day is not the stated one."""


def notes(old: Sequence[Reduced], new: Sequence[Reduced], rows: Sequence[Row], derived: Derived) -> Iterator[str]:
    """Yield sentences: what can be found, what the spread covers, and what is not compared."""
    found = [row.finds - 1 for row in rows if row.finds is not None]
    if found:
        runs = units.plural(max(row.new_replicates for row in rows), "new run")
        span = units.percent_range(min(found), max(found)) if len(found) > 1 else units.percent(found[0])
        yield (
            f"Slowdowns that {runs} would show with a probability of {units.percent(derived.power)}: {span}. "
            "Smaller ones are not ruled out."
        )
    started = [run.moment for run in old]
    span_s, since_s = span_seconds(started), since_seconds(started, [run.moment for run in new])
    if span_s is not None and since_s is not None and since_s > 0:
        yield (
            f"The runs of the gate began within {units.roughly(span_s)}, and the new ones {units.roughly(since_s)} "
            "later. What the machine did between counts as the change: only what varied within that time is in the "
            "limits."
        )
        if days(started) <= FEW_DAYS and since_s >= DAY_APART_S:
            yield (
                f"The gate's runs are of {units.plural(days(started), 'day')} and the new ones of another: where the "
                "machine differs from day to day, a case without a change is called worse far more often than in the "
                "stated share. Confirm a change with `levelfield ab`, or derive the gate from runs of more days."
            )
    if not derived.at_hand:
        yield (
            "The runs of the gate are not at hand, so that only costs are compared: its file holds no environment and "
            "no outputs. Whether outputs are equal to the reference was checked in the new runs."
        )


def span_seconds(started: Sequence[str]) -> float | None:
    """Return the time from the first start to the last; None where one cannot be read."""
    times = _times(started)
    return None if times is None else max(times) - min(times)


def days(started: Sequence[str]) -> int:
    """Return how many days runs are of: starts that lie `DAY_APART_S` apart; 0 where one cannot be read."""
    found = 0
    last = -math.inf
    for time in sorted(_times(started) or ()):
        if time - last >= DAY_APART_S:
            found, last = found + 1, time
    return found


def since_seconds(old: Sequence[str], new: Sequence[str]) -> float | None:
    """Return the time from the last old start to the first new one; None where one cannot be read."""
    first, second = _times(old), _times(new)
    return None if first is None or second is None else min(second) - max(first)


def _times(started: Sequence[str]) -> list[float] | None:
    try:
        return [datetime.fromisoformat(each).timestamp() for each in started] or None
    except (ValueError, OverflowError, OSError):
        return None
