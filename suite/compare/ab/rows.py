"""From the record of a run with two arms to a verdict for every case: what B costs over A, launch against launch.

Both arms of a generation were launched and measured together, so each generation gives one log ratio; a launch is the
unit of replication. All cases are judged together (`suite.compare.verdicts`), corrected for their number.
"""

import math
from collections.abc import Mapping, Sequence

from suite import analysis
from suite.analysis import costs, estimates
from suite.analysis.ending import ended_by
from suite.analysis.launch_levels import launch_levels
from suite.analysis.types import AnyRow, BlockAnalysis, Estimate
from suite.compare.effects import from_pairs
from suite.compare.rows import Draft, in_order, judge_rows
from suite.compare.types import Gate, Outcome, Row, Verdict
from suite.record.schema import Arm, Block, Run
from suite.statistics.ending import EndedBy
from suite.statistics.errors import InsufficientData
from suite.statistics.ratios import ratio_interval
from suite.statistics.student import fewest_launches

_NO_NUMBER = {"failed", "absent"}


def judge_arms(run: Run, old: Arm, new: Arm, gate: Gate) -> tuple[Row, ...]:
    """Judge every case of a run with two arms; worse ones first.

    Parameters
    ----------
    run
        The record, finished or cut off.
    old, new
        A and B. Ratios are of B over A.
    gate
        Margin, false discovery rate, and the slowdown that is allowed.
    """
    blocks = analysis.analyse(run).blocks
    drafts = [
        _draft(block, answers, (old.id, new.id), ended=ended_by(run.settings, block.case))
        for block, answers in zip(run.blocks, blocks, strict=True)
    ]
    return in_order(judge_rows(drafts, gate))


def _draft(block: Block, answers: BlockAnalysis, arms: tuple[str, str], *, ended: EndedBy) -> Draft:
    by_arm: Mapping[str, AnyRow] = {row.arm: row for row in answers.rows}
    old, new = (by_arm[arm] for arm in arms)
    found = launch_levels(block)
    common = sorted(found[old.arm].keys() & found[new.arm].keys())
    first, second = estimates.matrix({each.arm: found[each.arm] for each in (old, new)}, common).T.tolist()
    nothing = _nothing_to_judge(old, new, len(common), fewest_launches(ended))
    effect = None
    if nothing is None:
        try:
            effect = from_pairs(ratio_interval(second, first, ended=ended))
        except InsufficientData as error:
            nothing = Verdict.UNDECIDABLE, "undecided", str(error).rstrip(".")
    verdict, outcome, reason = nothing or (Verdict.INCONCLUSIVE, "undecided", "")
    further = max(fewest_launches(ended) - len(common), 1) if verdict is Verdict.UNDECIDABLE else None
    seconds = costs.generation_seconds(block)
    row = Row(
        case=block.case,
        metric=block.case.scenario,
        old_arm=old.arm,
        new_arm=new.arm,
        verdict=verdict,
        outcome=outcome,
        reason=reason,
        old=_typical(first),
        new=_typical(second),
        ratio=Estimate(math.exp(_mean(second) - _mean(first))) if common else None,
        old_replicates=len(common),
        new_replicates=len(common),
        further=further,
        further_seconds=further * seconds if further is not None and seconds else None,
    )
    return Draft(row, effect, seconds)


def _nothing_to_judge(old: AnyRow, new: AnyRow, launches: int, fewest: int) -> tuple[Verdict, Outcome, str] | None:
    """Return the verdict on a case in which no speeds can be compared, and why; None where they can."""
    missing_old, missing_new = old.standing in _NO_NUMBER, new.standing in _NO_NUMBER
    unequal_old, unequal_new = old.standing == "unequal", new.standing == "unequal"
    if missing_new and new.standing == "absent" and new.failure is None:
        return Verdict.MISSING, "undecided", new.reason.rstrip(".")
    if missing_new:
        reason = new.reason.rstrip(".")
        if missing_old:
            return Verdict.FAILED, "undecided", f"neither arm answered: {reason}"
        return Verdict.FAILED, "worse", f"{new.arm} did not answer: {reason}"
    if missing_old:
        return Verdict.RECOVERED, "aside", f"{old.arm} did not answer: {old.reason.rstrip('.')}"
    if unequal_new:
        return Verdict.UNEQUAL, "undecided" if unequal_old else "worse", new.reason.rstrip(".")
    if unequal_old:
        return Verdict.RECOVERED, "aside", f"{old.arm} is not equal to the reference: {old.reason.rstrip('.')}"
    if launches < fewest:
        launched = "launch" if launches == 1 else "launches"
        return (
            Verdict.UNDECIDABLE,
            "undecided",
            f"{launches} {launched} of both arms, and a verdict takes {fewest}",
        )
    return None


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)


def _typical(values: Sequence[float]) -> float | None:
    return math.exp(_mean(values)) if values else None
