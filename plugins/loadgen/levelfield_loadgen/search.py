"""Search for the highest load that a server holds: which load is tried next, from what the loads before it showed.

A load holds, or does not, by a test of finite length, so that close to the limit it is chance. Loads are tried upwards
from a light one, in steps, until one does not hold; then the gap is halved on the logarithmic scale until it is small.
The steps below are no waste: latency against load is a result of its own. Whether a load holds is taken to fall once:
the highest load that held counts only up to the lowest that did not.
"""

import math
from collections.abc import Sequence

from levelfield.analysis.loadgen import Tried, highest

STEPS = (0.3, 0.5, 0.7, 0.85, 1.0)
"""Loads that are tried first, as shares of the capacity: one server without waiting is busy all the time at 1."""
BEYOND = 1.15
"""Factor of the next load where all of these hold: the capacity was an estimate."""
BELOW = 0.1
"""Share of the capacity that is tried last where not even the first load holds."""
CLOSE = 1.05
"""Factor between the highest load that holds and the lowest that does not, at which the search ends."""
MOST = 10
"""Loads that are tried in all."""


def next_load(tried: Sequence[Tried], capacity: float) -> float | None:
    """Return the load that is tried next; None: the search is over.

    `tried`: in any order. `capacity`: load at which a server that waits for nothing is busy all the time, in the unit
    of the loads.

    Examples
    --------
    >>> next_load([], 100.0), next_load([Tried(30.0, True), Tried(50.0, False)], 100.0)
    (30.0, 38.72983346207417)
    """
    if len(tried) >= MOST:
        return None
    broken = min((each.load for each in tried if not each.held), default=None)
    held = highest(tried)
    if broken is None:
        if held is None:
            return STEPS[0] * capacity
        return next((step * capacity for step in STEPS if step * capacity > held * CLOSE), held * BEYOND)
    if held is None:
        lowest = BELOW * capacity
        return lowest if broken > lowest * CLOSE else None
    return math.sqrt(held * broken) if broken / held > CLOSE else None
