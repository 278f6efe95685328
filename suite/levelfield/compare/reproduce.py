"""Whether one run gives the same results as another, result by result: `reproduce`.

A difference inside an allowance counts as none, and the interval of the ratio over launches decides
(`compare.policy.reproduction_policy`): a result is *reproduced* where the whole interval lies inside the allowance, it
*differs* where the whole interval lies outside, and else it is *not decided*.
"""

import math
from collections import Counter
from collections.abc import Container, Iterator, Sequence

import msgspec

from levelfield.analysis.summary import Answer, Reduced, question
from levelfield.analysis.types import Estimate
from levelfield.compare import changes, drift, effects, phrases, rows, sides
from levelfield.compare.conclusion import UNDECIDED, counted, exit_code, numerics
from levelfield.compare.policy import judge, reproduction_policy
from levelfield.compare.types import Comparison, Gate, Movement, Outcome, Row, Side, Verdict
from levelfield.statistics.arrays import InsufficientData, UnusableData

ALLOWED = 0.1
"""Relative difference between two runs of the same thing that counts as none, unless set otherwise."""
FEWEST = effects.MIN_RUNS
"""Launches here from which there is an interval, however few the report has."""
_MOVED = (Movement.BECAME_UNEQUAL, Movement.BEYOND)
_WITH_NUMBERS = ("ranked", "shown")
_TOO_FEW = f"too few launches for an interval; {FEWEST} here would give one: --launches {FEWEST}"


def judge_reproduction(theirs: Reduced, ours: Reduced, *, allowed: float = ALLOWED) -> Comparison:
    """Compare a run that was made here with the one that it repeats."""
    same = changes.have_same_hardware((theirs, ours))
    pairs = sides.pair_arms(theirs.arms, ours.arms)
    drifts = drift.find_drift(pairs, (theirs,), (ours,), same_hardware=same)
    moved = {(each.old_arm, *each.question[:3]) for each in drifts if each.movement in _MOVED}
    judged = rows.in_order(_rows(theirs, ours, moved, same=same, allowed=allowed))
    found = Comparison(
        answer=_answer(judged, sum(each.outcome == "worse" for each in drifts)),
        exit_code=UNDECIDED,
        kind="reproduce",
        old=Side(f"report {theirs.facts.id}", (theirs.facts,)),
        new=Side(f"here {ours.facts.id}", (ours.facts,)),
        notes=(numerics(drifts) or "No answer of the report could be compared.", _speed(judged, allowed)),
        rows=judged,
        drifts=drifts,
        changes=changes.compare_environments((theirs,), (ours,), pairs),
        gate=Gate(margin=allowed),
        method=(
            f"Ratios are here over the report, with {1 - reproduction_policy(allowed).level:.0%} intervals over "
            f"launches. Reproduced means that the whole interval lies within {allowed:.0%} of no change."
        ),
        order="lumps",
        replicate="launch",
        same_hardware=same,
    )
    return msgspec.structs.replace(found, exit_code=exit_code(found)) if judged else found


def _rows(
    theirs: Reduced, ours: Reduced, moved: Container[tuple[str, str, str, int]], *, same: bool | None, allowed: float
) -> Iterator[Row]:
    for (arm, name), old in theirs.answers.items():
        if old.standing not in _WITH_NUMBERS or old.cost is None:
            continue  # nothing that could be reproduced
        case = theirs.cases[name]
        draft = Row(
            case=case,
            metric=case.scenario,
            old_arm=arm,
            new_arm=arm,
            old=old.cost,
            old_replicates=len(old.launch_costs),
            verdict=Verdict.MISSING,
            outcome="undecided",
            reason="this run did not measure it",
        )
        new = ours.answers.get((arm, name))
        if new is None:
            yield draft
        elif new.cost is None or new.standing not in _WITH_NUMBERS:
            verdict = {"unequal": Verdict.UNEQUAL, "absent": Verdict.MISSING}.get(new.standing, Verdict.FAILED)
            yield _with(draft, verdict, "undecided" if verdict is Verdict.MISSING else "worse", new.reason.rstrip("."))
        else:
            has_moved = (arm, *question(case)[:3]) in moved
            yield _judged(draft, old, new, old.cost, new.cost, has_moved=has_moved, same=same, allowed=allowed)


def _with(row: Row, verdict: Verdict, outcome: Outcome, reason: str) -> Row:
    return msgspec.structs.replace(row, verdict=verdict, outcome=outcome, reason=reason)


def _judged(
    draft: Row,
    old: Answer,
    new: Answer,
    theirs: float,
    ours: float,
    *,
    has_moved: bool,
    same: bool | None,
    allowed: float,
) -> Row:
    effect = effect_of(old.launch_costs, new.launch_costs)
    found = None if effect is None else judge([effect], reproduction_policy(allowed))[0]
    row = msgspec.structs.replace(
        draft,
        new=ours,
        new_replicates=len(new.launch_costs),
        ratio=Estimate(ours / theirs) if found is None else found.ratio,
        confidence=None if found is None else found.confidence,
    )
    if has_moved:
        return _with(row, Verdict.MOVED, "worse", new.reason.rstrip("."))
    if same is not True:
        why = "other hardware" if same is False else "a record does not name its processor"
        return _with(row, Verdict.INCOMPARABLE, "undecided", why)
    if found is None:
        return msgspec.structs.replace(
            row, verdict=Verdict.UNDECIDED, reason=_TOO_FEW, further=max(1, FEWEST - row.new_replicates)
        )
    return msgspec.structs.replace(row, verdict=found.verdict, outcome=found.outcome, reason="", further=found.further)


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


def _answer(rows: Sequence[Row], moved: int) -> str:
    if not rows:
        return "Nothing could be compared with the report: it has no result with a number."
    counts = Counter(row.verdict for row in rows)
    if set(counts) == {Verdict.REPRODUCED}:
        return f"Reproduced: all {len(rows)} results, and every answer."
    if set(counts) == {Verdict.INCOMPARABLE}:
        if moved:
            return f"Other hardware, and {moved} answers are not the same."
        return "Other hardware: the answers can be compared, the times cannot."
    return f"Of {len(rows)} results: {counted(counts, {})}."


def _speed(rows: Sequence[Row], allowed: float) -> str:
    judged = [row for row in rows if row.verdict in (Verdict.REPRODUCED, Verdict.DIFFERS, Verdict.UNDECIDED)]
    if not judged:
        return "No time could be compared."
    fine = sum(row.verdict is Verdict.REPRODUCED for row in judged)
    text = f"{fine} of {len(judged)} costs are shown to be what they were, within {allowed:.0%}"
    undecided = [row for row in judged if row.verdict is Verdict.UNDECIDED]
    needed = [row.new_replicates + row.further for row in undecided if row.further is not None]
    if needed:
        every = "all that is" if len(needed) == len(undecided) else f"{len(needed)} of {len(undecided)} that are"
        text += f"; --launches {max(needed)} would decide {every} not decided"
    worst = max(judged, key=lambda row: abs(math.log(phrases.ratio_of(row))))
    return f"{text}; furthest: {worst.id}, {100 * (phrases.ratio_of(worst) - 1):+.1f} %."
