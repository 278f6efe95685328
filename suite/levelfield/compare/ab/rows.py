"""From the record of a run with two arms to a verdict for every case: what B costs over A, launch against launch.

Both arms of a generation were launched and measured together, so each generation gives one log ratio; a launch is the
unit of replication. All cases are judged together (`compare.verdicts`), corrected for their number.
"""

import math

from levelfield import analysis
from levelfield.analysis import whole_launch
from levelfield.analysis.estimates import ended_by, matrix
from levelfield.analysis.launch_levels import launch_levels
from levelfield.analysis.types import AnyRow, BlockAnalysis, Estimate
from levelfield.compare.answers import CaseResults, verdict_without_costs
from levelfield.compare.effects import from_pairs
from levelfield.compare.reduction import answer_of
from levelfield.compare.rows import Draft, in_order, judge_rows
from levelfield.compare.types import Gate, Row, Verdict
from levelfield.record.schema import Arm, Block, Run
from levelfield.statistics.arrays import Floats
from levelfield.statistics.student import fewest_launches, mean_of


def judge_arms(run: Run, old: Arm, new: Arm, gate: Gate) -> tuple[Row, ...]:
    """Judge every case of a run with two arms; worse ones first."""
    blocks = analysis.analyse(run).blocks
    drafts = [_draft(run, block, analysed, (old, new)) for block, analysed in zip(run.blocks, blocks, strict=True)]
    return in_order(judge_rows(drafts, gate))


def _draft(run: Run, block: Block, analysed: BlockAnalysis, arms: tuple[Arm, Arm]) -> Draft:
    ended = ended_by(run.settings, block.case)
    fewest = fewest_launches(ended)
    rows: dict[str, AnyRow] = {row.arm: row for row in analysed.rows}
    before, after = (CaseResults(1, (answer_of(rows[arm.id], block, arm, run.settings),)) for arm in arms)
    levels = launch_levels(block)
    old, new = (levels[arm.id] for arm in arms)
    common = sorted(old.keys() & new.keys())
    first, second = matrix({"old": old, "new": new}, common).T
    found = verdict_without_costs(before, after)
    if found is None and len(common) < fewest:
        launched = "launch" if len(common) == 1 else "launches"
        reason = f"{len(common)} {launched} of both arms, and a verdict takes {fewest}"
        found = Verdict.UNDECIDABLE, "undecided", reason
    effect = from_pairs(mean_of(second - first, ended)) if found is None else None
    verdict, outcome, reason = found or (Verdict.INCONCLUSIVE, "undecided", "")
    further = fewest - len(common) if verdict is Verdict.UNDECIDABLE else None
    seconds = whole_launch.generation_seconds(block)
    row = Row(
        case=block.case,
        metric=block.case.scenario,
        old_arm=arms[0].id,
        new_arm=arms[1].id,
        verdict=verdict,
        outcome=outcome,
        reason=reason,
        old=_typical(first),
        new=_typical(second),
        ratio=Estimate(math.exp(float((second - first).mean()))) if common else None,
        old_replicates=len(common),
        new_replicates=len(common),
        further=further,
        further_seconds=further * seconds if further is not None and seconds else None,
    )
    return Draft(row, effect, seconds)


def _typical(logs: Floats) -> float | None:
    return math.exp(float(logs.mean())) if logs.size else None
