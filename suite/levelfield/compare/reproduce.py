"""Whether one run gives the same results as another, result by result: `reproduce`.

A difference inside an allowance counts as none, and the interval of the ratio over launches decides
(`compare.policy.reproduction_policy`): a result is *reproduced* where the whole interval lies inside the allowance, it
*differs* where the whole interval lies outside, and else it is *not decided*.
"""

import itertools
import math
from collections import Counter
from collections.abc import Container, Iterator, Sequence

import msgspec

from levelfield.analysis.status import SMOKE
from levelfield.analysis.summary import Reduced, question
from levelfield.analysis.types import Estimate
from levelfield.compare import changes, drift, effects, phrases, rows, sides
from levelfield.compare.conclusion import FINE, UNDECIDED, counted, exit_code, numerics
from levelfield.compare.policy import reproduction_policy
from levelfield.compare.rows import Draft
from levelfield.compare.types import Comparison, Drift, Gate, Movement, Outcome, Row, Side, Verdict
from levelfield.names import plural
from levelfield.statistics.arrays import InsufficientData, UnusableData

ALLOWED = 0.1
"""Relative difference between two runs of the same thing that counts as none, unless set otherwise."""
TOLD_APART = 0.01
"""Level at which one run tells two arms apart, for whether both runs order them alike."""
FEWEST = effects.MIN_RUNS
"""Launches here from which there is an interval, however few the report has."""
_ANSWERS = {Movement.IDENTICAL: "reproduced", Movement.WITHIN: "reproduced", Movement.UNKNOWN: "not compared"}
_MOVED = (Movement.BECAME_UNEQUAL, Movement.BEYOND)
_WITH_NUMBERS = ("ranked", "shown")
_ALIKE = f" Where a side has fewer than {FEWEST} launches, both are taken to scatter as the other side's do."
_TOO_FEW = f"too few launches for an interval; {FEWEST} here would give one: --launches {FEWEST}"


def judge_reproduction(theirs: Reduced, ours: Reduced, *, allowed: float = ALLOWED) -> Comparison:
    """Compare a run that was made here with the one that it repeats."""
    same = changes.have_same_hardware((theirs, ours))
    pairs = sides.pair_arms(theirs.arms, ours.arms)
    drifts = drift.find_drift(pairs, (theirs,), (ours,), same_hardware=same)
    moved = {
        (each.old_arm, *each.question[:3]) for each in drifts if each.movement in _MOVED and each.outcome == "worse"
    }
    policy = reproduction_policy(allowed)
    drafts = tuple(_drafts(theirs, ours))
    alike = any(each.effect is not None and each.effect.pooled for each in drafts)
    judged = rows.judge_rows(drafts, policy)
    left = {each.task for each in theirs.data_sets} - {each.task for each in ours.data_sets}
    again = msgspec.structs.replace(theirs, accuracies=tuple(one for one in theirs.accuracies if one.task not in left))
    found_rows = (_as_found(row, ours, moved, same=same) for row in judged)
    judged = rows.in_order(drift.with_data_sets((again,), (ours,), found_rows))
    said = {row.verdict for row in judged} | {_ANSWERS.get(each.movement) for each in drifts}
    whole = bool(drifts) and said == {Verdict.REPRODUCED} and not left
    found = Comparison(
        answer=_answer(judged, drifts, same=same, whole=whole),
        exit_code=UNDECIDED,
        kind="reproduce",
        old=Side(f"report {theirs.facts.id}", (theirs.facts,)),
        new=Side(f"here {ours.facts.id}", (ours.facts,)),
        notes=tuple(
            filter(
                None,
                (
                    _without_number(theirs),
                    _disturbed(theirs, ours),
                    numerics(drifts) or "No answer of the report could be compared.",
                    f"Not answered again: {', '.join(sorted(left))}." if left else "",
                    _speed(judged, allowed) if same is True else "",
                    _order(theirs, ours, same=same is True),
                ),
            )
        ),
        rows=judged,
        drifts=drifts,
        changes=changes.compare_environments((theirs,), (ours,), pairs),
        gate=Gate(margin=allowed),
        method=(
            f"Ratios are here over the report, with {1 - policy.level:.0%} intervals over "
            f"launches. Reproduced means that the whole interval lies within {allowed:.0%} of no change."
            f"{_ALIKE if alike else ''}"
        ),
        order="lumps",
        replicate="launch",
        same_hardware=same,
    )
    code = FINE if whole else exit_code(found) or UNDECIDED
    return msgspec.structs.replace(found, exit_code=code) if judged else found


def _drafts(theirs: Reduced, ours: Reduced) -> Iterator[Draft]:
    for (arm, name), old in theirs.answers.items():
        if old.standing not in (*_WITH_NUMBERS, "failed") or old.cost is None:
            continue  # nothing that could be reproduced; of an arm that failed at times the other launches are
        case, new = theirs.cases[name], ours.answers.get((arm, name))
        row = Row(
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
        if new is None:
            yield Draft(row)
        elif new.cost is None or new.standing not in _WITH_NUMBERS:
            verdict = {"unequal": Verdict.UNEQUAL, "absent": Verdict.MISSING}.get(new.standing, Verdict.FAILED)
            outcome: Outcome = "undecided" if verdict is Verdict.MISSING else "worse"
            yield Draft(_with(row, verdict, outcome, new.reason.rstrip(".")))
        elif lacking := sides.CaseResults(1, (new,)).lacking:
            yield Draft(_with(msgspec.structs.replace(row, new=new.cost), Verdict.UNDECIDED, "undecided", lacking))
        elif why := _not_comparable(theirs, ours, arm, name):
            yield Draft(_with(msgspec.structs.replace(row, new=new.cost), Verdict.INCOMPARABLE, "undecided", why))
        else:
            effect, many = effect_of(old.launch_costs, new.launch_costs), len(new.launch_costs)
            row = msgspec.structs.replace(row, new=new.cost, new_replicates=many, ratio=Estimate(new.cost / old.cost))
            row = _with(row, Verdict.UNDECIDED, "undecided", "" if effect else _TOO_FEW)
            yield Draft(row if effect else msgspec.structs.replace(row, further=max(1, FEWEST - many)), effect)


def _not_comparable(theirs: Reduced, ours: Reduced, arm: str, name: str) -> str:
    """Say why two costs are not of the same question, by the rules of `compare`, or of no speed; empty: they are."""
    if SMOKE in (*theirs.facts.labels, *ours.facts.labels):
        return sides.NOT_MEASURED
    timed = sides.different_timed_region([theirs], [ours]) if theirs.cases[name].timed else ""
    old, new = theirs.answers[arm, name], ours.answers[arm, name]
    _, states = sides.of_one_state([[old], [new]], (1, 1))
    return sides.different_digests([old], [new]) or timed or states


def _with(row: Row, verdict: Verdict, outcome: Outcome, reason: str) -> Row:
    return msgspec.structs.replace(row, verdict=verdict, outcome=outcome, reason=reason, further=None)


def _as_found(row: Row, ours: Reduced, moved: Container[tuple[str, str, str, int]], *, same: bool | None) -> Row:
    """Take back the verdict on a time of something else, or of another machine."""
    if row.ratio is None:
        return row
    if (row.new_arm, *question(row.case)[:3]) in moved:
        return _with(row, Verdict.MOVED, "worse", ours.answers[row.new_arm, row.case.id].reason.rstrip("."))
    if same is not True:
        why = "other hardware" if same is False else "a record does not name its processor"
        return _with(row, Verdict.INCOMPARABLE, "undecided", why)
    return row


def _without_number(theirs: Reduced) -> str:
    """Say which results of the report have no number to compare with; empty: all have one, or were not supported."""
    found = [
        f"{arm}/{case}"
        for (arm, case), old in theirs.answers.items()
        if old.failure != "unsupported" and (old.cost is None or old.standing == "unequal")
    ]
    if not found:
        return ""
    return f"{plural(len(found), 'result')} of the report without a number cannot be compared, such as {found[0]}."


def _disturbed(theirs: Reduced, ours: Reduced) -> str:
    """Say how disturbed a machine was that may be no match for the report's; empty: it was not."""
    if not ours.rounds or 2 * ours.disturbed < ours.rounds:
        return ""
    return (
        f"{ours.disturbed} of {plural(ours.rounds, 'round')} were disturbed from outside here, and {theirs.disturbed} "
        f"of {theirs.rounds} in the report: speeds may differ for that alone. Measure again once nothing else runs."
    )


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


def _answer(rows: Sequence[Row], drifts: Sequence[Drift], *, same: bool | None, whole: bool) -> str:
    if not rows:
        return "Nothing could be compared with the report: it has no result with a number."
    if whole:
        return f"Reproduced: all {len(rows)} results, and every answer."
    answers = Counter(_ANSWERS.get(drift.movement, "not the same") for drift in drifts)
    hardware = "Other hardware: the answers can be compared, the times cannot. " if same is False else ""
    parts = ", ".join(f"{count} {word}" for word, count in sorted(answers.items(), reverse=True)) or "none compared"
    results = counted(Counter(row.verdict for row in rows), {})
    return f"{hardware}Of {plural(len(rows), 'result')}: {results}. Of {plural(len(drifts), 'answer')}: {parts}."


def _order(theirs: Reduced, ours: Reduced, *, same: bool) -> str:
    """Say whether the arms that both runs tell apart come in the same order, which other hardware can show, too."""
    untimed = "" if same else " No time could be compared."
    apart, against = 0, []
    for case in theirs.cases:
        arms = [arm for arm, name in theirs.answers if name == case and _launches(ours, arm, case)]
        arms = [arm for arm in arms if not _not_comparable(theirs, ours, arm, case)]
        for first, second in itertools.combinations(arms, 2):
            found = [effect_of(_launches(run, first, case), _launches(run, second, case)) for run in (theirs, ours)]
            told = [each.log_ratio > 0 for each in found if each is not None and each.p_value < TOLD_APART]
            apart += len(told) == len(found)
            against += [f"{first} and {second} ({case})"] if len(set(told)) > 1 else []
    if not apart:
        return "" if same else "No time could be compared, and no two arms are told apart by both runs."
    pairs = plural(apart, "pair of arms", "pairs of arms")
    if not against:
        return f"The order is the report's in {pairs}: all that both runs tell apart.{untimed}"
    more = f" and {len(against) - 1} more" if len(against) > 1 else ""
    return f"The order is another in {len(against)} of {pairs} that both runs tell apart: {against[0]}{more}."


def _launches(run: Reduced, arm: str, case: str) -> Sequence[float]:
    """Return the costs of launches that are worth comparing; none of an arm without a number."""
    found = run.answers.get((arm, case))
    return found.launch_costs if found is not None and found.standing in _WITH_NUMBERS else ()


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
