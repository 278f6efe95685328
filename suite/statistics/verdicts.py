"""Verdicts from an interval and a margin, and what an inconclusive one would still need.

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

import msgspec

from suite.statistics.ratios import RatioInterval
from suite.statistics.student import launches_for

DEFAULT_MARGIN = 0.02
"""A change of 2 % is the smallest that people act on; asked for otherwise with `--margin`."""


class Verdict(enum.StrEnum):
    """What may be said about a ratio of times."""

    SAME = "same"
    FASTER = "faster"
    SLOWER = "slower"
    INCONCLUSIVE = "inconclusive"


class Judgement(msgspec.Struct, frozen=True):
    """A verdict, and what it would take where there is none."""

    verdict: Verdict
    margin: float
    further_generations: int | None = None
    """Only for inconclusive verdicts: generations to add until the interval would decide, if the estimate and the
    spread stay what they are; None also where that is out of reach."""


def verdict_of(low: float, high: float, *, margin: float = DEFAULT_MARGIN) -> Verdict:
    """Return the verdict on an interval [low, high] of a time ratio.

    *same*: the whole interval inside the margin; *slower* or *faster*: the interval excludes 1 and is not inside the
    margin; otherwise *inconclusive*.

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
    if low > 1:
        return Verdict.SLOWER
    if high < 1:
        return Verdict.FASTER
    return Verdict.INCONCLUSIVE


def judge(interval: RatioInterval, *, margin: float = DEFAULT_MARGIN) -> Judgement:
    """Return the verdict on a ratio, with the further generations an inconclusive one needs.

    Parameters
    ----------
    interval : RatioInterval
        Of *this arm* over *the other*: slower means that this arm takes longer.
    margin : float
        Relative change that does not matter.
    """
    verdict = verdict_of(interval.low, interval.high, margin=margin)
    if verdict is not Verdict.INCONCLUSIVE:
        return Judgement(verdict=verdict, margin=margin)
    return Judgement(verdict=verdict, margin=margin, further_generations=_further(interval, margin))


def _further(interval: RatioInterval, margin: float) -> int | None:
    """Generations to add until the half-width excludes 1 or fits into the margin, whichever is nearer."""
    distance = abs(math.log(interval.ratio))
    target = max(distance, math.log1p(margin) - distance)
    spread = interval.standard_error * math.sqrt(interval.launches)
    needed = launches_for(spread, target, confidence=interval.confidence, sequential=interval.sequential)
    return None if needed is None else max(needed - interval.launches, 1)
