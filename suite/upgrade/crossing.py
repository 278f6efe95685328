"""Two arms in every boot of an upgrade: what either change does, and what both do together.

The stack is one axis, old and new, and its effect on each arm is judged as in any upgrade. The arms are the other one:

- the effect of the *arms* is their ratio within each boot, both stacks together (`suite.statistics.paired`);
- the *interaction* is how that ratio differs between the stacks: the boots before, new and after are compared as costs
  are (`suite.statistics.bracket`), so that a ratio that drifts gives no verdict. The level of a boot is in both arms
  alike, and cancels.

Each case has four tests: of the stack in either arm, of the interaction, and of the arms. The arms of all cases are
judged at a quarter of the level (`ARMS_SHARE`), and the first three together at the rest, so that the probability of
any wrong verdict stays below the level whatever the tests have in common (Bonferroni).
"""

import math
from collections.abc import Sequence

import msgspec

from suite.analysis.status import SMOKE
from suite.analysis.types import Estimate
from suite.compare import answers
from suite.compare.answers import NOT_MEASURED
from suite.compare.matching import Pair
from suite.compare.phrases import factor
from suite.compare.reduction import Reduced
from suite.compare.types import Gate, Outcome, Row, Verdict
from suite.compare.verdicts import of_metric
from suite.errors import LevelfieldError
from suite.record.schema import Case
from suite.statistics import verdicts
from suite.statistics.bracket import Costs
from suite.statistics.paired import Paired, Ratios, judge_pairs

ARMS = 2
"""That are crossed with the stack."""
ARMS_SHARE = 0.25
"""Part of the level that the effects of the arms have."""
Boot = tuple[float, float]
"""Costs of both arms in one boot."""


class Question(msgspec.Struct, frozen=True):
    """One case of two arms, in the boots in which both have a result."""

    case: Case
    arms: Pair
    """First and second."""
    before: tuple[Boot, ...]
    new: tuple[Boot, ...]
    after: tuple[Boot, ...]
    verdict: Verdict | None = None
    """Where the arms cannot be compared, or are not judged."""
    reason: str = ""

    @property
    def ratios(self) -> Costs:
        """Second arm over the first, in each boot."""
        return Costs(*(tuple(second / first for first, second in boots) for boots in self._phases))

    @property
    def boots(self) -> tuple[int, int]:
        """Boots of the old and of the new stack."""
        return len(self.before) + len(self.after), len(self.new)

    def typical(self, arm: int) -> float | None:
        """Return the geometric mean cost of an arm, both stacks weighted equally; None where one has no boot."""
        stacks = [[math.log(boot[arm]) for boot in boots] for boots in ((*self.before, *self.after), self.new)]
        return math.exp(sum(sum(logs) / len(logs) for logs in stacks) / 2) if all(stacks) else None

    @property
    def _phases(self) -> tuple[tuple[Boot, ...], ...]:
        return self.before, self.new, self.after


def questions(before: Sequence[Reduced], new: Sequence[Reduced], after: Sequence[Reduced]) -> tuple[Question, ...]:
    """Return the cases of an upgrade whose boots measured two arms.

    Parameters
    ----------
    before, new, after
        Runs of each phase; each holds the two arms, in their order.

    Raises
    ------
    LevelfieldError
        The first run holds another number of arms.
    """
    runs = (*before, *new, *after)
    if len(before[0].arms) != ARMS:
        raise LevelfieldError(
            f"The upgrade crosses two arms, and its run {before[0].facts.id} holds {len(before[0].arms)}.",
            fix="Bring its journal and its runs back from a copy, or begin another upgrade.",
        )
    first, second = before[0].arms
    cases = {name: case for run in runs for name, case in run.cases.items()}
    smoke = any(SMOKE in run.facts.labels for run in runs)
    found = answers.by_arm(runs)
    result = []
    for name, case in cases.items():
        results = [found[arm][name].answers if name in found.get(arm, {}) else () for arm in (first, second)]
        different = answers.different_digests(*results)
        verdict = Verdict.INCOMPARABLE if different else Verdict.UNDECIDED if smoke else None
        reason = different or (NOT_MEASURED if smoke else "")
        each = [tuple(_boots(phase, (first, second), name)) for phase in (before, new, after)]
        result.append(Question(case, (first, second), each[0], each[1], each[2], verdict, reason))
    return tuple(result)


def _boots(runs: Sequence[Reduced], arms: Pair, case: str) -> list[Boot]:
    boots = []
    for run in runs:
        found = answers.by_arm([run])
        costs = [found[arm][case].costs if case in found.get(arm, {}) else [] for arm in arms]
        if all(costs):
            boots.append((costs[0][0], costs[1][0]))
    return boots


def interaction(asked: Question) -> Row:
    """Return the row of an interaction before it is judged."""
    return Row(
        case=asked.case,
        metric=asked.case.scenario,
        old_arm=asked.arms[0],
        new_arm=asked.arms[1],
        verdict=asked.verdict or Verdict.UNDECIDED,
        outcome="undecided",
        reason=asked.reason,
        old_replicates=asked.boots[0],
        new_replicates=asked.boots[1],
        effect="interaction",
    )


_TOGETHER: dict[Verdict, Verdict] = {
    Verdict.SAFE: Verdict.SAME,
    Verdict.SLOWER: Verdict.LARGER_TOGETHER,
    Verdict.FASTER: Verdict.SMALLER_TOGETHER,
}


def in_words(row: Row, asked: Question) -> Row:
    """Return the row of an interaction that was judged as a change of costs in the words of a change of ratios.

    Parameters
    ----------
    row
        As `suite.upgrade.verdict` judged it.
    asked
        What was asked.
    """
    reasons = {
        Verdict.UNDECIDED: row.reason,
        Verdict.DRIFTED: "After the way back, it is not what it was before, so nothing is said of the new stack",
    }
    old, new = (_mean(boots) for boots in ((*asked.before, *asked.after), asked.new))
    sizes = f"The ratio of the arms is {old} on the old stack and {new} on the new one"
    return msgspec.structs.replace(
        row,
        verdict=_TOGETHER.get(row.verdict, row.verdict),
        reason=". ".join(filter(None, (sizes if row.ratio is not None else "", reasons.get(row.verdict, "")))),
    )


def _mean(boots: Sequence[Boot]) -> str:
    logs = [math.log(second / first) for first, second in boots]
    return factor(math.exp(sum(logs) / len(logs))) if logs else "not known"


def effects(asked: Sequence[Question], gate: Gate) -> tuple[Row, ...]:
    """Judge the effect of the arms in all cases together.

    Parameters
    ----------
    asked
        The cases.
    gate
        Margin, and level of the whole upgrade.
    """
    open_ = [each for each in asked if each.verdict is None]
    ratios = [(each, each.ratios) for each in open_]
    found = judge_pairs(
        [Ratios((*costs.before, *costs.after), costs.new) for _, costs in ratios],
        margin=gate.margin,
        level=gate.q * ARMS_SHARE,
        phases=2 if any(each.after for each in asked) else 1,
    )
    judged = {each.case.id: judgement for each, judgement in zip(open_, found, strict=True)}
    return tuple(_effect(each, judged.get(each.case.id)) for each in asked)


_OUTCOMES: dict[verdicts.Verdict, Outcome] = {
    verdicts.Verdict.SAME: "fine",
    verdicts.Verdict.FASTER: "fine",
    verdicts.Verdict.SLOWER: "worse",
}


def _effect(asked: Question, found: Paired | None) -> Row:
    row = msgspec.structs.replace(
        interaction(asked),
        effect="arms",
        old=asked.typical(0),
        new=asked.typical(1),
        old_replicates=sum(asked.boots),
        new_replicates=sum(asked.boots),
    )
    if found is None:
        return row
    if found.ratio is None:
        return msgspec.structs.replace(row, reason="each stack needs more boots with a result of both arms")
    decided = found.verdict is not verdicts.Verdict.INCONCLUSIVE
    return msgspec.structs.replace(
        row,
        verdict=of_metric(found.verdict, row.metric) if decided else Verdict.UNDECIDED,
        outcome=_OUTCOMES.get(found.verdict, "undecided"),
        ratio=Estimate(found.ratio, found.low, found.high),
        confidence=found.confidence,
        further=found.further,
    )
