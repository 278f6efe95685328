"""Ranks of a block's arms, and ratios between identical arms: the controls of this run and of those before it."""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Generic, TypeAlias, TypedDict, TypeVar

import msgspec

from levelfield.analysis import collect, estimates, types
from levelfield.analysis.estimates import Levels
from levelfield.record.schema import Absent, Arm, Block, ControlDraw, Parity, Run
from levelfield.statistics import ranking
from levelfield.statistics.proportions import proportion
from levelfield.statistics.student import EndedBy

Ranked = TypeVar("Ranked", types.Row, types.ConvergenceRow, types.LoadGenRow)

UNREACHED = "the run ended before its turn"
"""Reason of an arm, and of a case, that nothing was measured of."""
_STANDINGS: tuple[types.Standing, ...] = ("ranked", "control", "shown", "unequal", "failed", "absent")


class Ranking(TypedDict, Generic[Ranked]):
    """The part of a block that follows from ranking its rows."""

    rows: tuple[Ranked, ...]
    best: str | None
    unranked_reason: str


def assign(rows: Mapping[str, Ranked], compared: Levels, *, margin: float, ended: EndedBy) -> Ranking[Ranked]:
    """Rank the rows of a block that may be ranked, and put all of them in order."""
    rows = dict(rows)
    arms = [arm for arm, row in rows.items() if row.standing == "ranked"]
    levels = estimates.matrix({arm: compared[arm] for arm in arms})
    leaders = []
    for found in ranking.rank(levels, margin=margin, ended=ended) if arms else ():
        arm = arms[found.arm]
        if found.rank is None or found.ratio is None:
            rows[arm] = msgspec.structs.replace(rows[arm], standing="shown", reason=(found.reason or "").rstrip("."))
            continue
        ratio = types.Estimate(found.ratio, found.low, found.high)
        rows[arm] = msgspec.structs.replace(
            rows[arm], rank=found.rank, ratio=ratio, half_width=found.half_width, verdict=found.verdict
        )
        leaders += [arm] if found.rank == 1 else []
    return Ranking(
        rows=tuple(sorted(rows.values(), key=order)),
        best=leaders[0] if leaders else None,
        unranked_reason="" if leaders else _why_unranked(rows.values()),
    )


def mapped(ranking: Ranking[Ranked], change: Callable[[Ranked], Ranked]) -> Ranking[Ranked]:
    """Return a ranking with other rows."""
    return Ranking(
        rows=tuple(map(change, ranking["rows"])), best=ranking["best"], unranked_reason=ranking["unranked_reason"]
    )


def order(row: types.RankedRow) -> tuple[int, int, float]:
    """Sort key: by rank, and by estimate within a rank; rows without one keep the order of the plan, as if unsorted."""
    return _STANDINGS.index(row.standing), row.rank or 0, row.ratio.value if row.ratio else 0.0


def _why_unranked(rows: Collection[types.RankedRow]) -> str:
    if rows and all(row.reason == UNREACHED for row in rows):
        return UNREACHED
    shown = [row.reason for row in rows if row.standing == "shown"]
    if shown:
        return Counter(shown).most_common(1)[0][0]
    if any(row.parity is not None and row.parity.equal for row in rows):
        return "no arm whose answer is equal to the reference has a figure"
    return "no arm gave an answer equal to the reference"


def original(arm: Arm, block: Block) -> str | None:
    """Return the id of the arm that this one repeats; none where it repeats none, or the other is not in the block."""
    if arm.ordinal == 1:
        return None
    first = msgspec.structs.replace(arm, ordinal=1)
    return first.id if first in block.arms else None


def controls(block: Block, compared: Levels, *, ended: EndedBy) -> tuple[types.Control, ...]:
    """Compare every arm that occurs twice with itself."""
    found: list[types.Control] = []
    for arm in block.arms:
        first = original(arm, block)
        if first is None or first not in compared or arm.id not in compared:
            continue
        ratio = estimates.ratio(compared[arm.id], compared[first], ended=ended)
        if ratio is not None:
            found.append(types.Control(arm=arm.id, of=first, ratio=ratio))
    return tuple(found)


Known: TypeAlias = Mapping[tuple[str, str, str], Parity]
"""(question, precision, arm) to the parity that holds for it."""
NO_FAULT = frozenset({"unsupported"})
"""Kinds of failure that are a reason for absence, not an error."""
NO_FAULT_OF_AN_ARM = frozenset({"engine", "interrupted"})
"""Failures of what lies around a worker: they say nothing about the stack that was to be measured."""


def parities(run: Run) -> dict[tuple[str, str, str], Parity]:
    """Find each arm's worst parity per question and precision, over all blocks.

    A launch of the cold-start or memory scenario need not compare its output: the arm was compared in another block.
    A training is a question of its own.
    """
    found: dict[tuple[str, str, str], list[Parity]] = {}
    for block in run.blocks:
        for _, launch in collect.launches(block):
            if launch.parity is not None:
                found.setdefault((block.case.question, block.case.precision, launch.arm), []).append(launch.parity)
    return {key: max(of_arm, key=_badness) for key, of_arm in found.items()}


def _badness(parity: Parity) -> tuple[bool, float]:
    """Sort a parity that is not equal behind all others, and these by their relative error."""
    error = parity.relative_error
    return not parity.equal, float("inf") if isinstance(error, Absent) else error


def arm_row(
    block: Block, summary: collect.ArmSummary, known: Known, *, measured: int, needed: int | None
) -> types.ArmRow:
    """Return an arm's standing with the reason for it, its parity and its last failure."""
    arm, failures = summary.arm, summary.failures
    own = [worker.parity for worker in summary.workers if worker.parity is not None]
    other = known.get((block.case.question, block.case.precision, arm.id))
    parity = max(own, key=_badness, default=other)
    standing, reason = _standing(summary, measured, parity, needed)
    if standing == "ranked" and original(arm, block) is not None:
        standing, reason = "control", "the same arm a second time, to see what no difference looks like"
    last = next((each for each in reversed(failures) if each.kind not in NO_FAULT | NO_FAULT_OF_AN_ARM), None)
    last = last or (failures[-1] if failures else None)
    return types.ArmRow(arm=arm.id, backend=arm.backend, standing=standing, reason=reason, parity=parity, failure=last)


def _standing(
    summary: collect.ArmSummary, measured: int, parity: Parity | None, needed: int | None
) -> tuple[types.Standing, str]:
    failures = summary.failures
    if not measured:
        if failures:
            last = failures[-1]
            return ("absent" if last.kind in NO_FAULT else "failed"), last.message
        return "absent", "no window was completed before the run ended" if summary.launches else UNREACHED
    if parity is None:
        return "shown", "its output was not compared with the reference"
    if not parity.equal:
        return "unequal", parity.reason or "its output is not equal to the reference"
    if needed is None:
        return "shown", ""
    if measured < needed:
        lost = f"; {len(failures)} failed: {failures[-1].message}" if failures else ""
        return "shown", f"{measured} {'launch' if measured == 1 else 'launches'}, and a ranking takes {needed}{lost}"
    return "ranked", ""


def control_draws(run: Run, blocks: Iterable[types.BlockAnalysis]) -> tuple[ControlDraw, ...]:
    """Return the ratios that this run measured between identical arms."""
    return tuple(
        ControlDraw(
            run=run.id,
            started=run.started,
            arm=control.of,
            case=block.case.id,
            ratio=control.ratio.value,
            low=control.ratio.low,
            high=control.ratio.high,
        )
        for block in blocks
        if isinstance(block, types.TimedBlock)
        for control in block.controls
    )


def pooled_controls(run: Run, blocks: Iterable[types.BlockAnalysis]) -> types.PooledControls | None:
    """Pool the controls of this run with those of the runs before it; none where there are none."""
    own = control_draws(run, blocks)
    found = [*own, *(draw for draw in run.earlier_controls if draw.run != run.id)]
    ratio = estimates.level([draw.ratio for draw in found])
    if not found or ratio is None:
        return None
    bounds = [(draw.low, draw.high) for draw in found]
    judged = [low > 1 or high < 1 for low, high in bounds if low is not None and high is not None]
    return types.PooledControls(len(found), proportion(sum(judged), len(judged)) if judged else None, ratio)
