"""Where an axis of relative differences ends, so that one far value does not flatten all others."""

from collections.abc import Sequence

import numpy as np

ENDS = (0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 4.0, 9.0, 19.0, 49.0)
"""Relative differences at which an axis may end: 5 % to 50 times as much."""
INSIDE = 0.75
"""Share of the values that must not be cut."""
_NEAR = 1.5
"""Where the farthest value is no farther than so many times the end, the axis holds all values."""


def reach(differences: Sequence[float]) -> float:
    """Return the relative difference at which an axis ends.

    `differences`: sizes of relative differences: 0.12 for 12 %. Those that are not above zero do not count. Returns one
    of `ENDS` that at least `INSIDE` of the values stay below; or the farthest value, where that is near.
    """
    found = [each for each in differences if each > 0]
    if not found:
        return ENDS[0]
    wanted = float(np.quantile(found, INSIDE))
    end = next((each for each in ENDS if each >= wanted), ENDS[-1])
    farthest = max(found)
    return farthest if end < farthest <= _NEAR * end else end
