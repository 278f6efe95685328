"""Ranking the arms of a block: simultaneous intervals against the best, the best set, ranks with ties.

The best arm is not known beforehand; picking the fastest and comparing the others with it as if it had been chosen
before the run overstates its lead. *Multiple comparisons with the best* (Hsu 1984) repairs that:

* With the true best arm *k* as control, all K - 1 paired intervals of log t_j - log t_k hold together with the asked
  confidence (Bonferroni on paired t intervals: valid whatever the correlation and however unequal the spreads, which
  differ by a factor of three between backends; Dunnett's pooled variance would not be).
* Where they hold, no arm is significantly faster than *k*, so *k* is in the **best set**: the arms than which none is
  significantly faster.
* So the ratio of any arm to the best lies within the union of its intervals against the members of the best set.

References
----------
J. C. Hsu (1984). Constrained simultaneous confidence intervals for multiple comparisons with the best. Annals of
Statistics 12, 1136–1144.
C. W. Dunnett (1955). A multiple comparison procedure for comparing several treatments with a control. JASA 50,
1096–1121.
M. Mohamad, J. Goeman, E. van Zwet (2019). Simultaneous confidence intervals for ranks with application to ranking
institutions. arXiv:1812.05507 (ranks as counts of significant differences).
"""

import math
from collections.abc import Iterable

import msgspec
import numpy as np
from numpy.typing import ArrayLike, NDArray

from suite.statistics.arrays import Floats, checked_confidence, finite_or_missing
from suite.statistics.student import MIN_LAUNCHES, half_width, spread_of
from suite.statistics.verdicts import DEFAULT_MARGIN, Verdict, verdict_of


class Standing(msgspec.Struct, frozen=True):
    """Where one arm stands in its block."""

    arm: int
    """Column in the matrix that was ranked."""
    launches: int
    """Launches that gave a value."""
    level: float | None
    """Geometric mean of its launches, in the unit of the input; None if it has none. Missing generations are not
    made up for, so compare `ratio`, not levels."""
    rank: int | None
    """1 + the number of arms that are significantly faster; equal ranks are ties. None: unranked."""
    in_best_set: bool = False
    """It may be the best: no arm is significantly faster."""
    ratio: float | None = None
    """Its time over that of the fastest arm."""
    low: float | None = None
    high: float | None = None
    """Simultaneous interval of its time over that of the true best, whichever that is; never below 1."""
    verdict: Verdict | None = None
    """`same` (as good as the best, within the margin), `slower`, or `inconclusive`."""
    reason: str | None = None
    """Why it is not ranked."""


def rank(
    log_levels: ArrayLike,
    *,
    confidence: float = 0.95,
    margin: float = DEFAULT_MARGIN,
    sequential: bool = False,
) -> list[Standing]:
    """Rank the arms of a block, fastest first; arms that cannot be ranked come last, with the reason.

    Parameters
    ----------
    log_levels : array_like, shape (generations, arms), log of time
        One value a launch, NaN where it failed. Each pair is compared over the generations in which both have one.
    confidence : float
        With which the true best is in the best set and all intervals hold, together.
    margin : float
        Relative slowdown against the best that does not matter.
    sequential : bool
        True if precision was allowed to end the run (see `suite.statistics.student`).

    Returns
    -------
    list of Standing
        One for each column. An arm is ranked if it shares at least `MIN_LAUNCHES` complete generations with every
        other ranked arm; a single such arm has rank 1 and no interval.

    Raises
    ------
    UnusableData
        Infinite values or an array that is not two-dimensional.
    """
    checked_confidence(confidence)
    levels = finite_or_missing(log_levels, dimensions=2, what="launch levels")
    present = ~np.isnan(levels)
    ranked = _comparable(present)
    if not ranked:
        return _unranked(levels, present, range(levels.shape[1]))
    placed = _place(levels[:, ranked], confidence=confidence, sequential=sequential)
    standings = [
        Standing(
            arm=arm,
            launches=int(present[:, arm].sum()),
            level=_level(levels[:, arm]),
            rank=int(placed.rank[i]),
            in_best_set=bool(placed.rank[i] == 1),
            ratio=math.exp(placed.estimate[i]),
            low=math.exp(placed.low[i]) if len(ranked) > 1 else None,
            high=math.exp(placed.high[i]) if len(ranked) > 1 else None,
            verdict=verdict_of(math.exp(placed.low[i]), math.exp(placed.high[i]), margin=margin)
            if len(ranked) > 1
            else None,
        )
        for i, arm in enumerate(ranked)
    ]
    standings.sort(key=lambda standing: (standing.rank, standing.ratio))
    return standings + _unranked(levels, present, [arm for arm in range(levels.shape[1]) if arm not in ranked])


def _unranked(levels: Floats, present: NDArray[np.bool_], arms: Iterable[int]) -> list[Standing]:
    return [
        Standing(
            arm=arm,
            launches=int(present[:, arm].sum()),
            level=_level(levels[:, arm]),
            rank=None,
            reason=_why(present, arm),
        )
        for arm in arms
    ]


class _Places(msgspec.Struct, frozen=True):
    rank: NDArray[np.int64]
    estimate: Floats
    low: Floats
    high: Floats


def _place(levels: Floats, *, confidence: float, sequential: bool) -> _Places:
    """Ranks and intervals of arms that can all be compared with one another; log scale."""
    arms = levels.shape[1]
    difference = levels[:, :, None] - levels[:, None, :]  # generation, arm, other
    mean = np.zeros((arms, arms))
    half = np.zeros((arms, arms))
    for i in range(arms):
        for j in range(i):
            pair = difference[:, i, j]
            pair = pair[~np.isnan(pair)]
            mean[i, j] = pair.mean()
            mean[j, i] = -mean[i, j]
            half[i, j] = half[j, i] = half_width(
                spread_of(pair),
                pair.size,
                confidence=confidence,
                sequential=sequential,
                comparisons=arms - 1,
            )
    certainly_slower = mean - half > 0
    ranks = 1 + certainly_slower.sum(axis=1)
    best = ranks == 1
    if not best.any():  # only a cycle of significant differences does that: missing generations or zero spreads
        best = ranks == ranks.min()
        ranks = np.where(best, 1, ranks)
    # With complete data the row mean of the differences is the arm's mean less the grand mean.
    score = mean.mean(axis=1)
    leader = int(np.argmin(np.where(best, score, np.inf)))
    return _Places(
        rank=ranks,
        estimate=mean[:, leader],
        low=np.maximum(mean - half, 0)[:, best].min(axis=1),
        high=np.maximum(mean + half, 0)[:, best].max(axis=1),
    )


def _comparable(present: NDArray[np.bool_]) -> list[int]:
    """Columns that share enough complete generations with one another; the emptiest is left out first."""
    counts = present.sum(axis=0)
    common = present.T.astype(np.int64) @ present.astype(np.int64)
    kept = [arm for arm in range(present.shape[1]) if counts[arm] >= MIN_LAUNCHES]
    while kept:
        conflicts = {arm: int((common[arm, kept] < MIN_LAUNCHES).sum()) for arm in kept}
        worst = max(kept, key=lambda arm: (conflicts[arm], -int(counts[arm]), arm))
        if conflicts[worst] == 0:
            break
        kept.remove(worst)
    return kept


def _why(present: NDArray[np.bool_], arm: int) -> str:
    launches = int(present[:, arm].sum())
    if launches < MIN_LAUNCHES:
        return f"{launches} launches gave a result; ranking needs at least {MIN_LAUNCHES}."
    return f"It shares fewer than {MIN_LAUNCHES} complete generations with another arm; measure more generations."


def _level(column: Floats) -> float | None:
    values = column[~np.isnan(column)]
    return math.exp(float(values.mean())) if values.size else None
