"""Whether one run came out as another did, result by result.

One run a side cannot say whether a stack became slower: between quiet runs of the same thing, minutes apart on one
machine, cells moved by more than launches within a run tell. It can say whether the figures of a report are such as
this machine gives. So a difference inside an allowance counts as none, and one is only called a difference where the
whole interval over launches (Welch, 99 %) lies outside of it.
"""

import math
from collections.abc import Mapping, Sequence

import msgspec

from suite import analysis
from suite.analysis.types import Analysis, AnyRow, ColdRow, ConvergenceRow, Estimate, MemoryRow, Row
from suite.analysis.whole import total_ns
from suite.comparing import changes, drift, hardware, matching, welch
from suite.comparing.reduction import Reduced, question, reduce
from suite.comparing.types import Drift, Movement
from suite.records.schema import Absent, Case, Run
from suite.reproducing.types import FORMAT, Reproduction, Result, Verdict
from suite.statistics.errors import InsufficientData, UnusableData

ALLOWED = 0.1
"""Relative difference between two runs of the same thing that is no surprise."""
CONFIDENCE = 0.99
_MOVED = (Movement.BECAME_UNEQUAL, Movement.BEYOND)


class Told(msgspec.Struct, frozen=True):
    """One of the two runs."""

    run: Run
    found: Analysis
    sha256: str = ""


def judge(theirs: Told, ours: Told, *, allowed: float = ALLOWED) -> Reproduction:
    """Hold a run that was made here against the one that it repeats.

    Parameters
    ----------
    theirs, ours
        The report's run, and this machine's.
    allowed
        Relative difference of a cost that counts as none.
    """
    old, new = reduce(theirs.run, theirs.sha256), reduce(ours.run, ours.sha256)
    same = hardware.alike((old, new))
    pairs = matching.arms(old.arms, new.arms)
    drifts = drift.judge(pairs, (old,), (new,), same_hardware=same)
    results = tuple(_results(theirs.found, ours.found, (old, new), drifts, same=same, allowed=allowed))
    numerics, speed = _numerics(drifts), _speed(results, allowed)
    return Reproduction(
        format=FORMAT,
        answer=_answer(results, drifts),
        exit_code=_exit_code(results, drifts),
        of=theirs.run.id,
        by=ours.run.id,
        allowed=allowed,
        same_hardware=same,
        numerics=numerics,
        speed=speed,
        results=results,
        drifts=drifts,
        changes=changes.compare((old,), (new,), pairs),
    )


def whole(run: Run, sha256: str = "") -> Told:
    """Return a run with what follows from it."""
    return Told(run, analysis.analyse(run), sha256)


def _results(
    theirs: Analysis,
    ours: Analysis,
    sides: tuple[Reduced, Reduced],
    drifts: Sequence[Drift],
    *,
    same: bool | None,
    allowed: float,
) -> list[Result]:
    here = {(block.case.id, row.arm): row for block in ours.blocks for row in block.rows}
    moved = {(each.old_arm, each.model, each.precision, each.batch) for each in drifts if each.movement in _MOVED}
    found = []
    for block in theirs.blocks:
        for row in block.rows:
            if row.arm not in sides[0].arms or (theirs_cost := _cost(row, block.case)) is None:
                continue  # a control, or nothing that could be reproduced
            key = (row.arm, *question(block.case)[:3])
            draft = Result(
                id=f"{row.arm}/{block.case.id}",
                arm=row.arm,
                case=block.case,
                verdict=Verdict.MISSING,
                theirs=theirs_cost,
            )
            mine = here.get((block.case.id, row.arm))
            found.append(_held(draft, row, mine, moved=key in moved, same=same, allowed=allowed))
    return found


def _held(draft: Result, row: AnyRow, mine: AnyRow | None, *, moved: bool, same: bool | None, allowed: float) -> Result:
    if mine is None:
        return msgspec.structs.replace(draft, reason="this run did not ask it")
    ours = _cost(mine, draft.case)
    if ours is None or draft.theirs is None:
        verdict = Verdict.NUMERICS if mine.standing == "unequal" else Verdict.FAILED
        verdict = Verdict.MISSING if mine.standing == "absent" else verdict
        return msgspec.structs.replace(draft, verdict=verdict, reason=mine.reason.rstrip("."))
    ratio = _ratio(_costs(row, draft.case), _costs(mine, draft.case), ours / draft.theirs)
    draft = msgspec.structs.replace(draft, ours=ours, ratio=ratio)
    if moved or mine.standing == "unequal":
        return msgspec.structs.replace(draft, verdict=Verdict.NUMERICS, reason=mine.reason.rstrip("."))
    if same is not True:
        why = "" if same is False else "a record does not tell its processor"
        return msgspec.structs.replace(draft, verdict=Verdict.ELSEWHERE, reason=why)
    return msgspec.structs.replace(draft, verdict=_verdict(ratio, allowed))


def _verdict(ratio: Estimate, allowed: float) -> Verdict:
    reach = 1 + allowed
    if 1 / reach <= ratio.value <= reach:
        return Verdict.REPRODUCED
    if ratio.low is not None and ratio.high is not None and (ratio.low > reach or ratio.high < 1 / reach):
        return Verdict.DIFFERS
    return Verdict.UNDECIDED


def _ratio(theirs: Sequence[float], ours: Sequence[float], value: float) -> Estimate:
    try:
        effect = welch.from_runs(theirs, ours)
    except (InsufficientData, UnusableData):
        return Estimate(value)
    half = effect.half_width(CONFIDENCE)
    return Estimate(value, math.exp(math.log(value) - half), math.exp(math.log(value) + half))


def _cost(row: AnyRow, case: Case) -> float | None:
    """Return what a result costs; None where it has no number that counts."""
    if row.standing not in ("ranked", "shown"):
        return None
    match row:
        case Row() if case.per_item:
            value = 1e9 / row.items_per_second.value if row.items_per_second is not None else None
        case Row():
            value = row.median_ns.value if row.median_ns is not None else None
        case ConvergenceRow():
            value = row.time_ns.value if row.time_ns is not None else None
        case ColdRow():
            value = row.total_ns.value if row.total_ns is not None else None
        case MemoryRow():
            value = row.peak_bytes
    return value if value is not None and 0 < value < math.inf else None


def _costs(row: AnyRow, case: Case) -> list[float]:
    """Return the cost of each launch."""
    match row:
        case Row() if case.per_item:
            return [1e9 / rate for rate in row.launch_items_per_second if rate > 0]
        case Row():
            return list(row.launch_medians_ns)
        case ConvergenceRow():
            return list(row.launch_times_ns)
        case ColdRow():
            return [float(total_ns(startup)) for startup in row.startups]
        case MemoryRow():
            peaks = [reading.peak_rss_bytes for reading in row.readings]
            return [float(peak) for peak in peaks if not isinstance(peak, Absent)]


def _exit_code(results: Sequence[Result], drifts: Sequence[Drift]) -> int:
    said = {result.verdict for result in results}
    if said & {Verdict.DIFFERS, Verdict.NUMERICS, Verdict.FAILED} or any(each.outcome == "worse" for each in drifts):
        return 1
    if not results or said - {Verdict.REPRODUCED} or any(each.outcome == "undecided" for each in drifts):
        return 3
    return 0


def _answer(results: Sequence[Result], drifts: Sequence[Drift]) -> str:
    if not results:
        return "Nothing could be held against the report: it holds no result with a number."
    counts = _counted(results)
    moved = sum(each.outcome == "worse" for each in drifts)
    total = len(results)
    if counts.get(Verdict.REPRODUCED) == total:
        return f"Reproduced: all {total} results, and every answer."
    if counts.get(Verdict.ELSEWHERE) == total:
        return (
            "Other hardware: the answers can be compared, the times cannot."
            if not moved
            else (f"Other hardware, and {moved} answers are not the same.")
        )
    parts = [f"{count} {verdict.value}" for verdict, count in counts.items()]
    return f"Of {total} results: {', '.join(parts)}."


def _counted(results: Sequence[Result]) -> Mapping[Verdict, int]:
    said = [result.verdict for result in results]
    return {verdict: said.count(verdict) for verdict in Verdict if verdict in said}


def _numerics(drifts: Sequence[Drift]) -> str:
    if not drifts:
        return "No answer of the report could be compared."
    identical = sum(each.movement is Movement.IDENTICAL for each in drifts)
    within = sum(each.movement is Movement.WITHIN for each in drifts)
    other = [each for each in drifts if each.movement not in (Movement.IDENTICAL, Movement.WITHIN)]
    text = f"{identical} of {len(drifts)} answers are the same to the last bit, {within} within rounding"
    if other:
        text += f"; {len(other)} are not: {', '.join(f'{each.id} ({each.movement.value})' for each in other[:5])}"
    return f"{text}."


def _speed(results: Sequence[Result], allowed: float) -> str:
    judged = [
        result for result in results if result.verdict in (Verdict.REPRODUCED, Verdict.DIFFERS, Verdict.UNDECIDED)
    ]
    if not judged:
        return "No time could be compared."
    fine = sum(result.verdict is Verdict.REPRODUCED for result in judged)
    text = f"{fine} of {len(judged)} costs are what they were, within {allowed:.0%}"
    worst = max(judged, key=lambda result: abs(math.log(result.ratio.value)) if result.ratio else 0.0)
    if worst.ratio is not None:
        text += f"; furthest: {worst.id}, {100 * (worst.ratio.value - 1):+.1f} %"
    return f"{text}."
