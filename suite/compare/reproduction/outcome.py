"""Whether one run gives the same results as another, result by result.

One run a side cannot say whether a stack became slower: between quiet runs of the same thing, minutes apart on one
machine, cells moved by more than launches within a run tell. It can say whether the figures of a report are such as
this machine gives. So a difference inside an allowance counts as none, and the interval of the ratio over launches
(95 %) decides: a result is *reproduced* where the whole interval lies inside the allowance (two one-sided tests), it
*differs* where the whole interval lies outside, and else it is *not decided*.

Where the true ratio lies on a bound of the allowance or beyond, *reproduced* is said in at most 2.5 % of cases, and
where it lies inside, *differs* in at most 2.5 %. "True" is of these two runs: a machine that is slower today than on
the report's day moves the ratio, and no interval over launches knows of that.

How often an equal result is shown to be reproduced depends on how launches scatter. Simulated with an allowance of
10 % and five launches a side: in 97 % of cases where their standard deviation is 3 %, in 48 % at 5 %, in 5 % at 8 %;
with ten a side in 99, 96 and 42 %. The tests repeat these simulations.

References
----------
D. J. Schuirmann (1987). A comparison of the two one-sided tests procedure and the power approach. Journal of
Pharmacokinetics and Biopharmaceutics 15, 657–680.
"""

import math
from collections.abc import Mapping, Sequence

import msgspec

from suite import analysis
from suite.analysis.types import Analysis, AnyRow, ColdRow, ConvergenceRow, Estimate, MemoryRow, Row
from suite.analysis.whole_launch import total_ns
from suite.compare import changes, drift, hardware, matching, welch
from suite.compare.reduction import Reduced, question, reduce
from suite.compare.reproduction.types import FORMAT, Reproduction, Result, Verdict
from suite.compare.types import Drift, Movement
from suite.record.schema import Absent, Case, Run
from suite.statistics.errors import InsufficientData, UnusableData

ALLOWED = 0.1
"""Relative difference between two runs of the same thing that is no surprise."""
CONFIDENCE = 0.95
"""Of the interval of a ratio; each of its ends is beyond the truth in 2.5 % of cases."""
MOST_LAUNCHES = 100
"""More launches here than this are out of reach."""
_MOVED = (Movement.BECAME_UNEQUAL, Movement.BEYOND)


class AnalysedRun(msgspec.Struct, frozen=True):
    """One of the two runs."""

    run: Run
    found: Analysis
    reduced: Reduced


def judge_reproduction(theirs: AnalysedRun, ours: AnalysedRun, *, allowed: float = ALLOWED) -> Reproduction:
    """Compare a run that was made here with the one that it repeats.

    Parameters
    ----------
    theirs, ours
        The report's run, and this machine's.
    allowed
        Relative difference of a cost that counts as none.
    """
    old, new = theirs.reduced, ours.reduced
    same = hardware.alike((old, new))
    pairs = matching.arms(old.arms, new.arms)
    drifts = drift.find_drift(pairs, (old,), (new,), same_hardware=same)
    results = tuple(
        sorted(_results(theirs.found, ours.found, (old, new), drifts, same=same, allowed=allowed), key=_order)
    )
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
        confidence=CONFIDENCE,
    )


def whole(run: Run, sha256: str = "") -> AnalysedRun:
    """Analyse a run.

    Parameters
    ----------
    run
        The whole record.
    sha256
        Digest of the record's file, hexadecimal; empty where it is not needed.
    """
    return told_of(run, analysis.analyse(run), sha256)


def told_of(run: Run, found: Analysis, sha256: str) -> AnalysedRun:
    """Combine a run with an analysis that exists already.

    Parameters
    ----------
    run, found
        A record, possibly with thinned samples, and the analysis of it.
    sha256
        Digest of the file of the whole record, hexadecimal.
    """
    return AnalysedRun(run, found, reduce(run, sha256))


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
    effect = _effect(_costs(row, draft.case), _costs(mine, draft.case))
    ratio = Estimate(ours / draft.theirs) if effect is None else _ratio(effect)
    draft = msgspec.structs.replace(draft, ours=ours, ratio=ratio)
    if moved or mine.standing == "unequal":
        return msgspec.structs.replace(draft, verdict=Verdict.NUMERICS, reason=mine.reason.rstrip("."))
    if same is not True:
        why = "" if same is False else "a record does not tell its processor"
        return msgspec.structs.replace(draft, verdict=Verdict.ELSEWHERE, reason=why)
    if effect is None:
        return msgspec.structs.replace(draft, verdict=Verdict.UNDECIDED, reason=_TOO_FEW, launches=FEWEST)
    verdict = decide(effect, allowed)
    if verdict is not Verdict.UNDECIDED:
        return msgspec.structs.replace(draft, verdict=verdict)
    more = launches_to_decide(effect, allowed)
    reason = (
        f"{more} launches here would decide: --launches {more}"
        if more is not None
        else "no number of launches within reach would decide: they scatter too much, or the ratio is near a bound"
    )
    return msgspec.structs.replace(draft, verdict=verdict, reason=reason, launches=more)


FEWEST = welch.MIN_RUNS
"""Launches here from which there is an interval, however few the report has."""
_TOO_FEW = f"too few launches for an interval; {FEWEST} here would give one: --launches {FEWEST}"


def decide(effect: welch.Effect, allowed: float) -> Verdict:
    """Decide by where the interval of a ratio lies: inside the allowance, outside of it, or across one of its bounds.

    Parameters
    ----------
    effect
        This machine's cost over the report's.
    allowed
        Relative difference that counts as none, in either direction: a ratio of 1 / (1 + allowed) to 1 + allowed.

    Returns
    -------
    Verdict
        `REPRODUCED`, `DIFFERS` or `UNDECIDED`.
    """
    reach, half = math.log1p(allowed), effect.half_width(CONFIDENCE)
    low, high = effect.log_ratio - half, effect.log_ratio + half
    if -reach <= low and high <= reach:
        return Verdict.REPRODUCED
    return Verdict.DIFFERS if low > reach or high < -reach else Verdict.UNDECIDED


def launches_to_decide(effect: welch.Effect, allowed: float) -> int | None:
    """Return how many launches on this machine would decide, if estimate and spreads stay as they are.

    The number of the report's own launches stays as it is.

    Parameters
    ----------
    effect
        This machine's cost over the report's.
    allowed
        Relative difference that counts as none, as in `decide`.

    Returns
    -------
    int or None
        All launches, those that were made among them; None where `MOST_LAUNCHES` would not be enough.
    """
    for count in range(effect.new_replicates + 1, MOST_LAUNCHES + 1):
        if decide(effect.with_new(count), allowed) is not Verdict.UNDECIDED:
            return count
    return None


def _effect(theirs: Sequence[float], ours: Sequence[float]) -> welch.Effect | None:
    """Compare launches with launches; None where they are too few.

    Welch's t where either side has enough launches to tell its own spread; where one has fewer, as in scenarios of one
    launch, both are taken to scatter alike.
    """
    try:
        if min(len(theirs), len(ours)) >= welch.MIN_RUNS:
            return welch.from_runs(theirs, ours)
        return welch.pooled(theirs, ours)
    except (InsufficientData, UnusableData):
        return None


def _ratio(effect: welch.Effect) -> Estimate:
    half = effect.half_width(CONFIDENCE)
    low, high = (math.exp(min(max(end, -100.0), 100.0)) for end in (effect.log_ratio - half, effect.log_ratio + half))
    return Estimate(math.exp(effect.log_ratio), low, high)


_WORST_FIRST = (
    Verdict.NUMERICS,
    Verdict.FAILED,
    Verdict.DIFFERS,
    Verdict.MISSING,
    Verdict.UNDECIDED,
    Verdict.ELSEWHERE,
    Verdict.REPRODUCED,
)


def _order(result: Result) -> tuple[int, float]:
    """Sort by verdict, the worst first, then by the ratio, the largest cost here first."""
    return _WORST_FIRST.index(result.verdict), -(result.ratio.value if result.ratio is not None else 0.0)


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
    text = f"{fine} of {len(judged)} costs are shown to be what they were, within {allowed:.0%}"
    undecided = [result for result in judged if result.verdict is Verdict.UNDECIDED]
    needed = [result.launches for result in undecided if result.launches is not None]
    if needed:
        every = "all that is" if len(needed) == len(undecided) else f"{len(needed)} of {len(undecided)} that are"
        text += f"; --launches {max(needed)} would decide {every} not decided"
    worst = max(judged, key=lambda result: abs(math.log(result.ratio.value)) if result.ratio else 0.0)
    if worst.ratio is not None:
        text += f"; furthest: {worst.id}, {100 * (worst.ratio.value - 1):+.1f} %"
    return f"{text}."
