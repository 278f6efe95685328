"""When to stop: at the end of a generation, on precision, never because a result became significant.

Stopping on significance finds differences between identical programs if one tests often enough. Stopping on
precision does not depend on the ratio; the little that it still costs in coverage is paid by
`statistics.student`.

References
----------
J. K. Kruschke (2015). Doing Bayesian Data Analysis, 2nd ed., section 13.3 (stopping on precision against stopping on
significance).
"""

import itertools

import msgspec
import numpy as np
from numpy.typing import ArrayLike

from levelfield.statistics.arrays import Floats, finite_or_missing, without_missing
from levelfield.statistics.student import MIN_LAUNCHES, EndedBy, mean_of

DEFAULT_TARGET = 0.01
"""Half-width of the log ratio's interval: half of the margin, so that an interval around no change lies inside it."""

CONFIDENCE = 0.95
"""Of the intervals whose width ends a run: `bench --precision-target` and `ab` alike. What is then said of a difference
has a confidence of its own (`ab`: a false discovery rate of 1 %)."""

GIVEN_UP = 2
"""An arm that failed in so many generations in a row does not keep the others running."""


class Decision(msgspec.Struct, frozen=True):
    """Whether to measure another generation."""

    precise: bool
    """Whether no further generation is needed."""
    half_width: float | None
    """Widest interval among the ratios, log scale; None while a pair has too few launches."""


def decide(log_levels: ArrayLike, *, target: float = DEFAULT_TARGET) -> Decision:
    """Decide, after a complete generation, whether a block needs another.

    `log_levels`, shape (generations, arms), log of time: one value a launch (`statistics.levels`), NaN where it failed.
    Only its spread counts. `target`: half-width that every ratio must reach, log scale; intervals are computed as
    sequential ones. Returns: precision must hold at this boundary **and at the one before**, so the earliest end on
    precision is after `MIN_LAUNCHES` + 1 generations. An arm that gave no value in the last `GIVEN_UP` generations is
    not waited for. Raises UnusableData: infinite values, or not two dimensions.
    """
    levels = finite_or_missing(log_levels, dimensions=2, what="launch levels")
    pairs = _pairs(levels)
    width = _widest(levels, pairs)
    precise = not pairs and levels.shape[0] >= MIN_LAUNCHES
    if width is not None and width <= target:
        before = _widest(levels[:-1], pairs)
        precise = before is not None and before <= target
    return Decision(precise, width)


def _pairs(levels: Floats) -> list[tuple[int, int]]:
    alive = [arm for arm in range(levels.shape[1]) if not np.isnan(levels[-GIVEN_UP:, arm]).all()]
    return list(itertools.combinations(alive, 2))


def _widest(levels: Floats, pairs: list[tuple[int, int]]) -> float | None:
    """Widest half-width; None without a pair, and while one has too few launches."""
    widths = []
    for a, b in pairs:
        difference = without_missing(levels[:, a] - levels[:, b])
        if difference.size < MIN_LAUNCHES:
            return None
        widths.append(mean_of(difference, EndedBy.PRECISION).half_width(CONFIDENCE))
    return max(widths, default=None)
