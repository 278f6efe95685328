"""Verdicts from an interval and a margin.

An interval inside the margin shows *practical equivalence* (two one-sided tests, Schuirmann 1987); "not significantly
different" never does. The margin is symmetric on the log scale, [1 / (1 + m), 1 + m], so that exchanging the arms
mirrors the verdict.

        1/(1+m)      1      1+m
           |         |       |
           |       [---]     |          same
           |         | [---] |          same (a difference, but one that does not matter)
           |         |   [---+--]       slower
           |   [-----+----]  |          same: inside
           |      [--+-------+---]      not decided

References
----------
D. J. Schuirmann (1987). A comparison of the two one-sided tests procedure and the power approach for assessing the
equivalence of average bioavailability. Journal of Pharmacokinetics and Biopharmaceutics 15, 657–680.

Many cases at once: the false discovery rate over the grid, and the rate of any false one.

With a hundred cases and 5 % each, five would be called different in every run of identical programs. Controlling the
false discovery rate keeps the *share of wrong ones among those reported* below q. Where a single wrong one spoils the
whole answer, the probability of any is kept below a level (`holm_levels`).

References
----------
Y. Benjamini, Y. Hochberg (1995). Controlling the false discovery rate. JRSS B 57, 289–300.
Y. Benjamini, D. Yekutieli (2005). False discovery rate-adjusted multiple confidence intervals for selected parameters.
JASA 100, 71–81.
S. Holm (1979). A simple sequentially rejective multiple test procedure. Scandinavian Journal of Statistics 6, 65–70.
"""

import enum
import math

import msgspec
import numpy as np
import scipy
from numpy.typing import ArrayLike

from levelfield.statistics.arrays import Floats

DEFAULT_MARGIN = 0.02
"""A change of 2 % is the smallest that people act on; `--margin` sets another."""


class Verdict(enum.StrEnum):
    """Every verdict on a case; an interval alone gives *same*, *faster*, *slower* or *not decided*.

    The others are words of one question (memory, a gate, an upgrade, a reproduction), or say why there is no ratio.
    """

    FASTER = "faster"
    SLOWER = "slower"
    LESS_MEMORY = "leaner"
    MORE_MEMORY = "hungrier"
    SAME = "same"
    """Equivalence shown: the whole interval inside the margin."""
    WITHIN = "within noise"
    """Inside what runs without a change do, by a gate that was derived from them."""
    UNDECIDED = "not decided"
    """Enough replicates for an interval, and it decides nothing."""
    UNDECIDABLE = "too few to judge"
    """Too few replicates for an interval: the ratio alone says nothing."""
    INCOMPARABLE = "not comparable"
    """Not the same question on both sides, or other hardware: a reason instead of a verdict."""
    UNEQUAL = "not equal"
    """The new answer is not the reference's, or neither is: a time of something else."""
    FAILED = "failed"
    """The new side could not answer, or a test of another tool fails there. Never read as slower."""
    MISSING = "missing"
    """The new side did not measure it, or was cut off before."""
    ADDED = "added"
    """Only the new side measured it."""
    RECOVERED = "recovered"
    """The old side failed, and the new one answers."""
    MENDED = "the old answer was wrong"
    """It was not the reference's, and the new one is: nothing got worse, and there is no old time to compare with."""
    SAFE = "safe"
    """Of an upgrade: equivalence shown, whatever drift there was."""
    MOVED = "answers moved"
    """The answers moved further than rounding explains, or became unequal: the time says nothing."""
    DRIFTED = "drifted"
    """Of an upgrade: the old side is not what it was before the new one, so that nothing is said of the new one."""
    NOT_ATTRIBUTABLE = "not attributable"
    """Of an upgrade: something else changed with it, which was not intended."""
    REPRODUCED = "reproduced"
    """Of a reproduction: the whole interval inside the allowance."""
    DIFFERS = "differs"
    """Of a reproduction: the whole interval outside the allowance."""


def verdict_of(
    low: float, high: float, *, margin: float = DEFAULT_MARGIN, change_beyond_margin: bool = False
) -> Verdict:
    """Return the verdict on an interval [low, high] of a time ratio.

    *same*: the whole interval inside the margin; *slower* or *faster*: the interval excludes what counts as no change
    and is not inside the margin; otherwise *not decided*.

    `low`, `high`: bounds of the ratio; above 1 is slower. `margin`: relative difference that does not matter.
    `change_beyond_margin`: whether a change has to exclude the whole margin; else it has to exclude 1. Raises
    ValueError: a margin or an interval that makes no sense.
    """
    if not (0 < low <= high) or math.isinf(low):
        raise ValueError(f"[{low}, {high}] is not an interval of a time ratio.")
    if not 0 < margin < 1:
        raise ValueError(f"A margin lies between 0 and 1, such as 0.02 for 2 %; {margin} does not.")
    if low >= 1 / (1 + margin) and high <= 1 + margin:
        return Verdict.SAME
    unchanged = 1 + margin if change_beyond_margin else 1.0
    if low > unchanged:
        return Verdict.SLOWER
    return Verdict.FASTER if high < 1 / unchanged else Verdict.UNDECIDED


DEFAULT_Q = 0.01
"""Of a hundred reported changes, one may be wrong."""


class Discoveries(msgspec.Struct, frozen=True):
    """Cases of a grid that are significant after correction."""

    found: tuple[bool, ...]
    adjusted: tuple[float, ...]
    """Adjusted p value of each case: found where it is at most q."""


def benjamini_hochberg(p_values: ArrayLike, *, q: float = DEFAULT_Q) -> Discoveries:
    """Return which cases are different after Benjamini–Hochberg correction.

    `p_values`, shape (cases,): two-sided, from `statistics.ratios`; one for each case. `q`: false discovery rate. Valid
    for independent tests, and under positive dependence, such as on one machine. Raises ValueError: a p value or a rate
    outside 0 to 1.
    """
    if not 0 < q < 1:
        raise ValueError(f"A false discovery rate lies between 0 and 1, such as 0.01; {q} does not.")
    p = np.asarray(p_values, dtype=np.float64)
    adjusted = scipy.stats.false_discovery_control(p, method="bh") if p.size else p
    return Discoveries(found=tuple((adjusted <= q).tolist()), adjusted=tuple(adjusted.tolist()))


def holm_levels(p_values: Floats, level: float) -> Floats:
    """Return the level at which each case is tested, so that the probability of any false rejection is at most `level`.

    A case is rejected where its p value is at most its level. Of m cases of which r are rejected, those are tested at
    level / (m - r + 1), the others at level / (m - r), which is Holm's procedure whatever the dependence of the cases.

    `p_values`, shape (..., cases): at least one case. `level`: of all cases together. Returns shape (..., cases).

    Examples
    --------
    >>> holm_levels(np.array([0.001, 0.2]), 0.01).tolist()
    [0.005, 0.01]
    """
    cases = p_values.shape[-1]
    steps = np.sort(p_values, axis=-1) <= level / (cases - np.arange(cases))
    rejected = np.logical_and.accumulate(steps, axis=-1).sum(axis=-1, keepdims=True)
    last = level / (cases - rejected + 1.0)
    found: Floats = np.where((rejected > 0) & (p_values <= last), last, level / np.maximum(cases - rejected, 1))
    return found
