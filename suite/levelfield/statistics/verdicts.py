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
           |      [--+-------+---]      inconclusive

References
----------
D. J. Schuirmann (1987). A comparison of the two one-sided tests procedure and the power approach for assessing the
equivalence of average bioavailability. Journal of Pharmacokinetics and Biopharmaceutics 15, 657–680.
"""

import enum
import math

DEFAULT_MARGIN = 0.02
"""A change of 2 % is the smallest that people act on; `--margin` sets another."""


class Verdict(enum.StrEnum):
    """Every verdict on a case; an interval alone gives *same*, *faster*, *slower* or *inconclusive*.

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
    INCONCLUSIVE = "inconclusive"
    """Enough replicates for an interval, and it decides nothing."""
    UNDECIDABLE = "not decidable"
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
    SAFE = "safe"
    """Of an upgrade: equivalence shown, whatever drift there was."""
    MOVED = "answers moved"
    """The answers moved further than rounding explains, or became unequal: the time says nothing."""
    DRIFTED = "drifted"
    """Of an upgrade: the old side is not what it was before the new one, so that nothing is said of the new one."""
    UNDECIDED = "not decided"
    """Neither shown nor ruled out, of an upgrade or a reproduction."""
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
    and is not inside the margin; otherwise *inconclusive*.

    Parameters
    ----------
    low, high : float
        Bounds of the ratio; above 1 is slower.
    margin : float
        Relative difference that does not matter.
    change_beyond_margin : bool
        Whether a change has to exclude the whole margin; else it has to exclude 1.

    Raises
    ------
    ValueError
        A margin or an interval that makes no sense.
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
    return Verdict.FASTER if high < 1 / unchanged else Verdict.INCONCLUSIVE
