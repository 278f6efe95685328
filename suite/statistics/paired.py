"""Two arms in the same boots of two stacks: how they compare, whichever stack runs.

Both arms are measured in every boot, so that the log ratio of their costs is one value per boot, in which whatever the
boot does to both cancels. The effect of the arms is the mean of these values, the old and the new stack weighted
equally, however many boots each has: half the sum of the two stacks' means. Its standard error is half of that of a
difference of the two means, with Welch's degrees of freedom (`suite.statistics.welch`), since boots of one stack may
scatter more than those of the other.

The boots of the old stack are one group, those before the new stack and those after it: where the ratio itself drifts,
they scatter more, and the interval is wider for it.

How the *ratio* differs between the stacks is the interaction of arms and stack. It is judged by
`suite.statistics.bracket`, which takes the ratios of the boots as it takes costs.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import msgspec
import numpy as np

from suite.statistics.arrays import Floats, checked_confidence, logs_of
from suite.statistics.bracketing import LEAST_BOOTS, Difference
from suite.statistics.multiple import holm_levels
from suite.statistics.student import spread_of
from suite.statistics.verdicts import Verdict
from suite.statistics.welch import standard_error

MOST_FURTHER = 200
"""Beyond so many more boots a phase, a decision is out of reach."""


class Ratios(msgspec.Struct, frozen=True):
    """Ratios of the costs of two arms, second over first, one for each boot; above zero."""

    old: tuple[float, ...]
    """Of the old stack, before and after the new one."""
    new: tuple[float, ...]


class Paired(msgspec.Struct, frozen=True):
    """Verdict on two arms in one case, both stacks together."""

    verdict: Verdict
    ratio: float | None
    """Geometric mean over both stacks; above 1 the second arm costs more. None: a stack has too few boots."""
    low: float | None
    high: float | None
    confidence: float
    """Of the interval: that by which the verdict was reached."""
    further: int | None
    """Inconclusive: boots to add to the new stack, and as many to each phase of the old one, until it would be
    decided, if estimates and spreads stay what they are. None also where that is out of reach."""


@dataclass(frozen=True)
class _Groups:
    """Log ratios of cases: means, variances of one boot, and numbers of boots; each of shape (2, cases), old, new."""

    means: Floats
    variances: Floats
    boots: Floats

    def effect(self) -> Difference:
        (old, new), (of_old, of_new) = self.variances / self.boots, self.boots - 1
        error, freedom = standard_error(old, of_old, new, of_new)
        return Difference(self.means.mean(axis=0), error / 2, freedom)


def judge_pairs(cases: Sequence[Ratios], *, margin: float, level: float, phases: int = 2) -> tuple[Paired, ...]:
    """Judge two arms in all cases of an upgrade together.

    Parameters
    ----------
    cases : sequence of Ratios
        Those with fewer than `LEAST_BOOTS` boots of a stack are inconclusive, and do not count as tests.
    margin : float
        Relative difference that does not matter, in either direction.
    level : float
        Probability that two equal arms are called different in any case. *Same* is not corrected for the number of
        cases: that the arms are the same in all is said only if they are in each.
    phases : int
        Of the old stack: further boots are added to each of them.

    Returns
    -------
    tuple of Paired
        In the order of the cases.

    Raises
    ------
    UnusableData
        A ratio is zero, below zero or infinite.
    ValueError
        A margin or a level outside 0 to 1.

    Examples
    --------
    >>> (found,) = judge_pairs([Ratios((1.05, 1.06, 1.05, 1.04), (1.05, 1.05, 1.06))], margin=0.02, level=0.01)
    >>> found.verdict.value, round(found.ratio, 2)
    ('slower', 1.05)
    """
    if not 0 < margin < 1:
        raise ValueError(f"A margin lies between 0 and 1, such as 0.02 for 2 %; {margin} does not.")
    checked_confidence(level)
    logs = [(logs_of(case.old, "ratios (old)"), logs_of(case.new, "ratios (new)")) for case in cases]
    complete = [number for number, groups in enumerate(logs) if min(map(len, groups)) >= LEAST_BOOTS]
    found = [
        Paired(Verdict.INCONCLUSIVE, None, None, None, 1 - 2 * level, max(LEAST_BOOTS - min(map(len, groups)), 0))
        for groups in logs
    ]
    if complete:
        judged = _judge([logs[number] for number in complete], margin, level, phases)
        for number, judgement in zip(complete, judged, strict=True):
            found[number] = judgement
    return tuple(found)


def _judge(logs: Sequence[tuple[Floats, Floats]], margin: float, level: float, phases: int) -> Iterator[Paired]:
    groups = _Groups(
        *(
            np.array([[float(of(group)) for group in case] for case in logs]).T
            for of in (np.mean, lambda group: spread_of(group) ** 2, np.size)
        )
    )
    effect = groups.effect()
    p_values = np.minimum(2 * np.minimum(effect.tail(1), effect.tail(-1)), 1.0)
    at = holm_levels(p_values, level)
    for place, verdict in enumerate(_verdicts(effect, at, margin, level)):
        tail = level if verdict == Verdict.SAME else at[place] / 2
        reach = effect.reach(tail)[place]
        value = effect.value[place]
        ratio, low, high = (math.exp(min(max(bound, -100.0), 100.0)) for bound in (value, value - reach, value + reach))
        undecided = verdict == Verdict.INCONCLUSIVE
        further = _further(groups, place, at[place], margin, level, phases) if undecided else None
        yield Paired(Verdict(str(verdict)), ratio, low, high, float(1 - 2 * tail), further)


def _verdicts(effect: Difference, at: Floats, margin: float, level: float) -> list[str]:
    none, reach = math.log1p(margin), effect.reach(level)
    equal = (effect.value - reach >= -none) & (effect.value + reach <= none)
    slower, faster = effect.tail(1) <= at / 2, effect.tail(-1) <= at / 2
    found: list[str] = np.select(
        [equal, slower, faster], [Verdict.SAME, Verdict.SLOWER, Verdict.FASTER], Verdict.INCONCLUSIVE
    ).tolist()
    return found


def _further(groups: _Groups, place: int, at: float, margin: float, level: float, phases: int) -> int | None:
    """Return how many more boots a phase would decide; every number is tried, as in `suite.statistics.bracket`."""
    counts = np.arange(1.0, MOST_FURTHER + 1)
    grows = np.array([[float(phases)], [1.0]])
    later = _Groups(
        groups.means[:, place, None], groups.variances[:, place, None], groups.boots[:, place, None] + grows * counts
    )
    decided = np.array(_verdicts(later.effect(), np.full_like(counts, at), margin, level)) != Verdict.INCONCLUSIVE
    return int(counts[decided.argmax()]) if decided.any() else None
