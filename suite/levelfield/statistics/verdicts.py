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
    """Verdict on a ratio of times."""

    SAME = "same"
    FASTER = "faster"
    SLOWER = "slower"
    INCONCLUSIVE = "inconclusive"


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
