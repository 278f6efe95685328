"""A race: arms that are surely behind leave it, and those that may be first or second get their time.

After every launch of all arms, from the fewest that carry a rank on, each pair of arms that are still in is tested. An
arm leaves as soon as it is surely slower than two others: it is then neither first nor second, so the lead of the best
over the next one does not wait for it.

One that is probably behind two others is launched less often from then on (`unlikely`); the simulation of ranks and
intervals includes that.

What an arm was found to be when it left is final. A pair of which one has left was tested at every look, as `ab` does
(`suite.statistics.student`, ended by a verdict), with `LOOKS_SHARE` of the level; a pair of which none has left is
tested once, when the race ends, with the rest. An error at a look and one at the end are the only ones there are, so
their chances add up to the whole level at the most. That is the design of Haybittle and Peto: strict looks cost the
last test little.

References
----------
J. L. Haybittle (1971). Repeated assessment of results in clinical trials of cancer treatment. British Journal of
Radiology 44, 793–797.
R. Peto et al. (1976). Design and analysis of randomized clinical trials requiring prolonged observation of each
patient. British Journal of Cancer 34, 585–612.
O. Maron, A. W. Moore (1994). Hoeffding races. NIPS 6, 59–66.
M. Birattari et al. (2002). A racing algorithm for configuring metaheuristics. GECCO 2002, 11–18 (races by tests).
"""

import itertools
import math
from collections.abc import Collection

from numpy.typing import ArrayLike

from suite.statistics.arrays import Floats, checked_confidence, finite_or_missing, without_missing
from suite.statistics.ending import EndedBy
from suite.statistics.student import fewest_launches, mean_of

LOOKS_SHARE = 0.2
"""Share of the level that the looks have together. The last test keeps four fifths: its intervals are some 4 % wider at
ten launches than they would be with all."""
AHEAD = 2
"""Arms that must surely be faster before one leaves: readers ask for the lead of the first over the second."""
UNLIKELY = 0.05
"""Level of the test that decides which arms are launched less often; it is not corrected for their number."""


def leaving(log_levels: ArrayLike, racing: Collection[int], *, confidence: float = 0.95) -> dict[int, tuple[int, ...]]:
    """Return the arms that leave a race now.

    Parameters
    ----------
    log_levels : array_like, shape (generations, arms), log of time
        One value a launch, NaN where there is none. All columns are arms that are ranked in the end.
    racing : collection of int
        Columns of the arms that are still in.
    confidence : float
        With which all ranks are right in the end, those of arms that left among them.

    Returns
    -------
    dict of int to tuple of int
        Column of each arm that leaves, to those of the arms in the race that are surely faster.

    Raises
    ------
    UnusableData
        Infinite values or an array that is not two-dimensional.
    """
    checked_confidence(confidence)
    levels = finite_or_missing(log_levels, dimensions=2, what="launch levels")
    level = LOOKS_SHARE * (1 - confidence) / max(1, math.comb(levels.shape[1], 2))
    return _behind(levels, racing, level, EndedBy.VERDICT)


def unlikely(log_levels: ArrayLike, racing: Collection[int]) -> frozenset[int]:
    """Return the arms that are probably neither first nor second: at `UNLIKELY`, two others are faster.

    They are launched less often. Nothing else follows from it: their ranks and intervals are those of all arms in the
    race.

    Parameters
    ----------
    log_levels, racing
        As in `leaving`.

    Raises
    ------
    UnusableData
        As in `leaving`.
    """
    levels = finite_or_missing(log_levels, dimensions=2, what="launch levels")
    return frozenset(_behind(levels, racing, UNLIKELY, EndedBy.PLAN))


def _behind(levels: Floats, racing: Collection[int], level: float, ended: EndedBy) -> dict[int, tuple[int, ...]]:
    """Return the arms that are behind `AHEAD` others at a level, with those others."""
    ahead: dict[int, list[int]] = {arm: [] for arm in racing}
    for first, second in itertools.combinations(sorted(racing), 2):
        difference = without_missing(levels[:, first] - levels[:, second])
        if difference.size < fewest_launches(EndedBy.RACE):
            continue
        mean = mean_of(difference, ended)
        if mean.p_value <= level:
            slow, fast = (first, second) if mean.value > 0 else (second, first)
            ahead[slow].append(fast)
    return {arm: tuple(faster) for arm, faster in ahead.items() if len(faster) >= AHEAD}
