"""Whether one run gives the same results as another, result by result: `reproduce`.

A difference inside an allowance counts as none, and the interval of the ratio over launches decides
(`compare.verdicts.reproduction_policy`): a result is *reproduced* where the whole interval lies inside the
allowance, it *differs* where the whole interval lies outside, and else it is *not decided*.
"""

import enum
import math
from collections import Counter
from collections.abc import Iterator, Sequence

import msgspec

from levelfield.analysis.types import Estimate
from levelfield.compare import changes, drift, effects, matching
from levelfield.compare.reduction import Answer, Reduced, question
from levelfield.compare.types import ChangeGroup, Drift, Movement
from levelfield.compare.verdicts import Judgement, judge, reproduction_policy
from levelfield.record.schema import Case
from levelfield.statistics import verdicts
from levelfield.statistics.arrays import InsufficientData, UnusableData

ALLOWED = 0.1
"""Relative difference between two runs of the same thing that counts as none, unless set otherwise."""
FEWEST = effects.MIN_RUNS
"""Launches here from which there is an interval, however few the report has."""
FORMAT = 1
"""Version of `reproduction.json`."""


class Verdict(enum.StrEnum):
    """Of one result."""

    REPRODUCED = "reproduced"
    """The whole interval of the ratio lies inside the allowance."""
    DIFFERS = "differs"
    """The whole interval of the ratio lies outside the allowance."""
    UNDECIDED = "not decided"
    """The interval of the ratio holds a bound of the allowance, or there are too few launches for an interval."""
    ELSEWHERE = "other hardware, not comparable"
    NUMERICS = "answers differ"
    """The answer is not equal to the reference any more, or moved further than rounding explains: its time says
    nothing."""
    FAILED = "failed"
    """It worked there, and does not here."""
    MISSING = "not measured"


class Result(msgspec.Struct, frozen=True):
    """One arm's answer to one case, there and here."""

    id: str
    arm: str
    case: Case
    verdict: Verdict
    theirs: float | None = None
    """Cost: nanoseconds of a call, of an item or to the first answer; or bytes."""
    ours: float | None = None
    ratio: Estimate | None = None
    """Ours over theirs; bounds are None where launches are too few."""
    reason: str = ""
    launches: int | None = None
    """Not decided: launches here that would decide it, if estimate and spreads stay what they are; None: no number
    within reach would, or it is not known."""


class Reproduction(msgspec.Struct, frozen=True):
    """The whole answer: numerics first, then speed, then what differs around them."""

    format: int
    answer: str
    """One line."""
    exit_code: int
    """0: all of it; 1: something differs; 3: other hardware, or something could not be decided."""
    of: str
    """Id of the run that was to be reproduced."""
    by: str
    """Id of the run that was made here."""
    allowed: float
    """Relative difference that counts as none."""
    same_hardware: bool | None
    numerics: str
    speed: str
    results: tuple[Result, ...]
    """Worst first."""
    drifts: tuple[Drift, ...]
    changes: tuple[ChangeGroup, ...]
    confidence: float = 0.99
    """Of the intervals of ratios."""


def judge_reproduction(theirs: Reduced, ours: Reduced, *, allowed: float = ALLOWED) -> Reproduction:
    """Compare a run that was made here with the one that it repeats."""
    same = changes.have_same_hardware((theirs, ours))
    pairs = matching.pair_arms(theirs.arms, ours.arms)
    drifts = drift.find_drift(pairs, (theirs,), (ours,), same_hardware=same)
    results = tuple(sorted(_results(theirs, ours, drifts, same=same, allowed=allowed), key=_order))
    numerics, speed = _numerics(drifts), _speed(results, allowed)
    return Reproduction(
        format=FORMAT,
        answer=_answer(results, drifts),
        exit_code=_exit_code(results, drifts),
        of=theirs.facts.id,
        by=ours.facts.id,
        allowed=allowed,
        same_hardware=same,
        numerics=numerics,
        speed=speed,
        results=results,
        drifts=drifts,
        changes=changes.compare_environments((theirs,), (ours,), pairs),
        confidence=1 - reproduction_policy(allowed).level,
    )


def _results(
    theirs: Reduced, ours: Reduced, drifts: Sequence[Drift], *, same: bool | None, allowed: float
) -> Iterator[Result]:
    moved = {(each.old_arm, each.model, each.precision, each.batch) for each in drifts if each.movement in _MOVED}
    for (arm, name), answer in theirs.answers.items():
        if answer.standing not in _WITH_NUMBERS or answer.cost is None:
            continue  # nothing that could be reproduced
        case = theirs.cases[name]
        draft = Result(id=f"{arm}/{name}", arm=arm, case=case, verdict=Verdict.MISSING, theirs=answer.cost)
        mine = ours.answers.get((arm, name))
        has_moved = (arm, *question(case)[:3]) in moved
        yield _judged(draft, answer, mine, has_moved=has_moved, same=same, allowed=allowed)


def _judged(
    draft: Result, old: Answer, new: Answer | None, *, has_moved: bool, same: bool | None, allowed: float
) -> Result:
    if new is None:
        return msgspec.structs.replace(draft, reason="this run did not measure it")
    reason = new.reason.rstrip(".")
    if old.cost is None or new.cost is None or new.standing not in _WITH_NUMBERS:
        verdict = {"unequal": Verdict.NUMERICS, "absent": Verdict.MISSING}.get(new.standing, Verdict.FAILED)
        return msgspec.structs.replace(draft, verdict=verdict, reason=reason)
    effect = effect_of(old.launch_costs, new.launch_costs)
    found = None if effect is None else judge([effect], reproduction_policy(allowed))[0]
    ratio = Estimate(new.cost / old.cost) if found is None else found.ratio
    draft = msgspec.structs.replace(draft, ours=new.cost, ratio=ratio)
    if has_moved:
        return msgspec.structs.replace(draft, verdict=Verdict.NUMERICS, reason=reason)
    if same is not True:
        why = "" if same is False else "a record does not name its processor"
        return msgspec.structs.replace(draft, verdict=Verdict.ELSEWHERE, reason=why)
    if effect is None or found is None:
        return msgspec.structs.replace(draft, verdict=Verdict.UNDECIDED, reason=_TOO_FEW, launches=FEWEST)
    verdict = verdict_of(found)
    if verdict is not Verdict.UNDECIDED:
        return msgspec.structs.replace(draft, verdict=verdict)
    launches = None if found.further is None else effect.new_replicates + found.further
    reason = (
        f"{launches} launches here would decide: --launches {launches}"
        if launches is not None
        else "no number of launches within reach would decide: they scatter too much, or the ratio is near a bound"
    )
    return msgspec.structs.replace(draft, verdict=verdict, reason=reason, launches=launches)


_MOVED = (Movement.BECAME_UNEQUAL, Movement.BEYOND)
_WITH_NUMBERS = ("ranked", "shown")
_TOO_FEW = f"too few launches for an interval; {FEWEST} here would give one: --launches {FEWEST}"


def verdict_of(found: Judgement) -> Verdict:
    """Return the verdict on a result by where the interval of its ratio lies."""
    match found.verdict:
        case verdicts.Verdict.SAME:
            return Verdict.REPRODUCED
        case verdicts.Verdict.INCONCLUSIVE:
            return Verdict.UNDECIDED
        case _:
            return Verdict.DIFFERS


def effect_of(theirs: Sequence[float], ours: Sequence[float]) -> effects.Effect | None:
    """Compare launches with launches; None where they are too few.

    Welch's t where either side has enough launches to estimate its spread; where one has fewer, as in scenarios of one
    launch, both are taken to scatter alike.
    """
    try:
        if min(len(theirs), len(ours)) >= effects.MIN_RUNS:
            return effects.from_runs(theirs, ours)
        return effects.pooled(theirs, ours)
    except (InsufficientData, UnusableData):
        return None


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


def _exit_code(results: Sequence[Result], drifts: Sequence[Drift]) -> int:
    found, outcomes = {result.verdict for result in results}, {drift.outcome for drift in drifts}
    if found & {Verdict.DIFFERS, Verdict.NUMERICS, Verdict.FAILED} or "worse" in outcomes:
        return 1
    if found != {Verdict.REPRODUCED} or "undecided" in outcomes:
        return 3
    return 0


def _answer(results: Sequence[Result], drifts: Sequence[Drift]) -> str:
    if not results:
        return "Nothing could be compared with the report: it has no result with a number."
    counts = Counter(result.verdict for result in results)
    moved = sum(each.outcome == "worse" for each in drifts)
    total = len(results)
    if counts[Verdict.REPRODUCED] == total:
        return f"Reproduced: all {total} results, and every answer."
    if counts[Verdict.ELSEWHERE] == total:
        if moved:
            return f"Other hardware, and {moved} answers are not the same."
        return "Other hardware: the answers can be compared, the times cannot."
    parts = [f"{counts[verdict]} {verdict.value}" for verdict in Verdict if counts[verdict]]
    return f"Of {total} results: {', '.join(parts)}."


def _numerics(drifts: Sequence[Drift]) -> str:
    if not drifts:
        return "No answer of the report could be compared."
    counts = Counter(each.movement for each in drifts)
    other = [each for each in drifts if each.movement not in (Movement.IDENTICAL, Movement.WITHIN)]
    text = f"{counts[Movement.IDENTICAL]} of {len(drifts)} answers are the same to the last bit, "
    text += f"{counts[Movement.WITHIN]} within rounding"
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
