"""Verdicts on an upgrade: the runs of its boots in, one `Comparison` out.

A boot is the unit of replication. What else changed is asked first: a setting that was lost on the way explains a
slowdown as well as the upgrade does. What follows from the costs of boots is said in `statistics.bracket`.
"""

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from typing import Literal

import msgspec

from levelfield.analysis.summary import Answer, Reduced, question
from levelfield.analysis.types import Estimate
from levelfield.compare import changes, drift, phrases, rows, sides
from levelfield.compare.conclusion import all_mended, conclude, counted, numerics
from levelfield.compare.policy import of_metric
from levelfield.compare.sides import Pair
from levelfield.compare.types import Comparison, Drift, Gate, Movement, Outcome, Row, Setting, Side, Verdict
from levelfield.compare.upgrade_settings import differences
from levelfield.report import units
from levelfield.statistics import bracket
from levelfield.statistics.bracket import LEAST_BOOTS, Bracketed, Costs, Ratio


class Design(msgspec.Struct, frozen=True):
    """What an upgrade declared that its verdict depends on."""

    margin: float
    one_way: bool
    """The old stack was not measured again."""
    replicate: Literal["run", "boot"] = "boot"
    """`run` where image sets stand for the sides, and a run for a boot."""
    sides: tuple[str, str] = ("old stack", "new stack")
    to_come: str = ""
    """Boots that are still to be measured, in words: `2 boots of the phase after`."""


class Phases(msgspec.Struct, frozen=True):
    """The runs of each phase."""

    before: Sequence[Reduced]
    new: Sequence[Reduced]
    after: Sequence[Reduced] = ()

    @property
    def old(self) -> Sequence[Reduced]:
        return (*self.before, *self.after)


def judge(design: Design, phases: Phases, accepted: Collection[str] = ()) -> Comparison:
    """Judge an upgrade."""
    found = differences([run.machine for run in phases.old], [run.machine for run in phases.new], accepted)
    lost = [each for each in found if each.meant == "not meant"]
    gate = Gate(margin=design.margin)
    pairs = _pairs(design, phases)
    drifts = drift.find_drift(pairs, phases.old, phases.new, same_hardware=True)
    compared = rows.compare_rows(phases.old, phases.new, pairs, gate, rows.Selection(), same_hardware=True)
    judged = _bracketed(compared, phases, gate, design)
    if design.to_come:  # a verdict that can be asked at any time errs more
        early = f"too early: {design.to_come} to come"
        judged = tuple(rows.undecided(row, early) if _rests_on_boots(row) else row for row in judged)
    judged = _with_answers(judged, drifts)
    if lost:
        judged = tuple(map(_not_attributable, judged))
        drifts = tuple(map(_drift_not_attributable, drifts))
    judged = rows.in_order(judged)
    return conclude(
        Comparison(
            answer=_answer(judged, drifts, lost, gate, design),
            exit_code=0,
            kind="upgrade",
            old=_side(design, 0, phases.before, phases.after),
            new=_side(design, 1, phases.new),
            notes=tuple(_notes(design, phases, found)),
            rows=judged,
            drifts=drifts,
            changes=changes.compare_environments(phases.old, phases.new, pairs),
            gate=gate,
            method=_method(gate, design),
            replicate=design.replicate,
            order="turns" if phases.after else "lumps",
            settings=(*lost, *(each for each in found if each not in lost)),
        )
    )


def _pairs(design: Design, phases: Phases) -> tuple[Pair, ...]:
    """Return the arms that answer each other; where image sets are the sides, one arm of each."""
    old, new = sides.arms_of(phases.old), sides.arms_of(phases.new)
    if design.replicate == "run" and len(old) == len(new) == 1:
        return ((next(iter(old)), next(iter(new))),)
    return sides.pair_arms(old, new)


def _side(design: Design, side: int, boots: Sequence[Reduced], after: Sequence[Reduced] = ()) -> Side:
    name = design.sides[side]
    count = units.plural(len(boots), design.replicate)
    label = f"{name} ({count} before, {len(after)} after)" if after else f"{name} ({count})"
    return Side(label, tuple(run.facts for run in (*boots, *after)))


def _bracketed(compared: Sequence[Row], phases: Phases, gate: Gate, design: Design) -> tuple[Row, ...]:
    """Judge all rows that have costs on both sides together; a row of runs that are no results is undecided."""
    given_runs = phases.before, phases.new, phases.after
    answers = [sides.by_arm(runs) for runs in given_runs]

    def results(row: Row) -> tuple[sides.CaseResults, ...]:
        arms = row.old_arm, row.new_arm, row.old_arm
        return tuple(
            of.get(arm, {}).get(row.case.id, sides.CaseResults(len(runs), ()))
            for of, arm, runs in zip(answers, arms, given_runs, strict=True)
        )

    taken = {
        row.id: results(row)
        for row in compared
        if row.ratio is not None and row.reason not in (sides.NOT_MEASURED, sides.SLOWED)
    }
    given = {case: costs([phase.trusted for phase in of_case]) for case, of_case in taken.items()}
    judged = dict(
        zip(given, bracket.judge([each for each, _ in given.values()], margin=gate.margin, level=gate.q), strict=True)
    )
    return tuple(
        _over_boots(row, judged[row.id], given[row.id], taken[row.id], design)
        if row.id in judged
        else msgspec.structs.replace(row, verdict=Verdict.UNDECIDED)
        if row.ratio is not None
        else row
        for row in compared
    )


def _over_boots(
    row: Row, found: Bracketed, given: tuple[Costs, str], phases: Sequence[sides.CaseResults], design: Design
) -> Row:
    (costs, why), verdict = given, of_metric(found.verdict, row.metric)
    outcomes: dict[Verdict, Outcome] = {Verdict.SAFE: "fine", Verdict.FASTER: "fine", Verdict.SLOWER: "worse"}
    judged = msgspec.structs.replace(
        row,
        verdict=verdict,
        outcome=outcomes.get(found.verdict, "undecided"),
        reason=found.reason.rstrip("."),
        ratio=_estimate(found.ratio) or row.ratio,
        drift=_estimate(found.drift),
        confidence=found.confidence if found.ratio is not None else None,
        old_replicates=len(costs.before) + len(costs.after),
        new_replicates=len(costs.new),
        further=found.further,
        further_seconds=None,
        p_value=None,
        p_adjusted=None,
    )
    _, new, after = phases
    if judged.outcome == "fine" and new.lacking:
        return rows.undecided(judged, f"of the new stack {new.lacking}")
    if after.runs and not after.trusted and not design.one_way:
        return rows.undecided(judged, f"the old stack gave no result afterwards: {sides.reason_for_failure(after)}")
    return rows.undecided(judged, f"{why}; begin again when it is calm") if why else judged


def costs(phases: Sequence[Sequence[Answer]]) -> tuple[Costs, str]:
    """Return the costs of boots of one state of the machine, or of all, and why these decide nothing."""
    measured = [phase for phase in phases if phase]
    chosen, why = sides.of_one_state(measured, [LEAST_BOOTS] * len(measured))
    left = iter(chosen)
    kept = [next(left) if phase else () for phase in phases]
    return Costs(*(tuple(sides.costs_of(phase)) for phase in kept)), why


def _estimate(found: Ratio | None) -> Estimate | None:
    return Estimate(found.value, found.low, found.high) if found is not None else None


def _with_answers(judged: Sequence[Row], drifts: Sequence[Drift]) -> tuple[Row, ...]:
    """Say of the rows whose answers moved that they did: a time of something else is no comparison."""
    moved = {
        (each.old_arm, each.new_arm, each.question)
        for each in drifts
        if each.movement is Movement.BEYOND and each.outcome == "worse"
    }
    return tuple(
        msgspec.structs.replace(
            row, verdict=Verdict.MOVED, outcome="worse", reason=f"of its speed: {row.verdict}", further=None
        )
        if row.ratio is not None and (row.old_arm, row.new_arm, question(row.case)) in moved
        else row
        for row in judged
    )


def _rests_on_boots(row: Row) -> bool:
    """Return whether more boots, or other settings, might change the verdict."""
    return row.ratio is not None or row.outcome == "fine"


def _not_attributable(row: Row) -> Row:
    """Take back a verdict on a difference that settings which changed with the upgrade may explain."""
    if not _rests_on_boots(row) or row.verdict in (Verdict.UNDECIDED, Verdict.DRIFTED):
        return row
    return rows.undecided(row, f"{row.verdict}, and settings changed with the upgrade", Verdict.NOT_ATTRIBUTABLE)


def _drift_not_attributable(found: Drift) -> Drift:
    if found.movement is not Movement.BEYOND:
        return found
    return msgspec.structs.replace(found, outcome="undecided", reason="settings changed with the upgrade")


def _answer(rows: Sequence[Row], drifts: Sequence[Drift], lost: Sequence[Setting], gate: Gate, design: Design) -> str:
    if not rows:
        return "Not decided: nothing was measured on both sides."
    head = _head(rows, drifts)
    early = (f"{design.to_come} to come",) if design.to_come else ()
    text = f"{head}: {'; '.join((*early, *_clauses(rows, lost, gate, head, design)))}."
    return " ".join(filter(None, (text, numerics(drifts))))


def _head(rows: Sequence[Row], drifts: Sequence[Drift]) -> str:
    outcomes = {row.outcome for row in rows} | {drift.outcome for drift in drifts}
    given = {row.verdict for row in rows}
    if "worse" in outcomes:
        return "Not safe"
    if Verdict.NOT_ATTRIBUTABLE in given:
        return "Not attributable"
    if Verdict.DRIFTED in given:
        return "Drifted"
    return "Not decided" if "undecided" in outcomes or "fine" not in outcomes else "Safe"


def _clauses(rows: Sequence[Row], lost: Sequence[Setting], gate: Gate, head: str, design: Design) -> Iterator[str]:
    words = {Verdict.SAFE: f"safe within {units.percent(gate.margin)}"}
    everything = "the only case" if len(rows) == 1 else f"all {len(rows)} cases"
    if len(counts := Counter(row.verdict for row in rows)) == 1 and rows[0].verdict is Verdict.MENDED:
        yield all_mended(len(rows))
    elif len(counts) == 1:
        word = words.get(rows[0].verdict, rows[0].verdict.value)
        yield everything if word == head.lower() else f"{everything} {word}"
    else:
        yield f"of {len(rows)} cases, {counted(counts, words, _ORDER)}"
    worse = [row for row in rows if row.verdict in (Verdict.SLOWER, Verdict.MORE_MEMORY) and row.ratio is not None]
    if worse:
        worst = max(worse, key=phrases.ratio_of)
        yield f"{'most of all ' if len(worse) > 1 else ''}{phrases.where(worst)} {phrases.by_how_much(worst)}"
    if lost:
        first = lost[0]
        more = f" and {len(lost) - 1} more" if len(lost) > 1 else ""
        change = f"{phrases.clean(first.name, 80)}: {phrases.clean(first.old, 60)} → {phrases.clean(first.new, 60)}"
        yield f"settings changed that were not meant to: {phrases.clean(first.where, 40)} {change}{more}"
    enough = [
        row.new_replicates + row.further for row in rows if row.outcome == "undecided" and row.further is not None
    ]
    if enough:
        where = "of the new stack" if design.one_way else "in each phase"
        yield f"{units.plural(max(enough), design.replicate)} {where} would decide (`--boots {max(enough)}`)"


_ORDER = (
    Verdict.FAILED, Verdict.UNEQUAL, Verdict.MOVED, Verdict.SLOWER, Verdict.MORE_MEMORY, Verdict.NOT_ATTRIBUTABLE,
    Verdict.DRIFTED, Verdict.UNDECIDED, Verdict.FASTER, Verdict.LESS_MEMORY, Verdict.SAFE,
)  # fmt: skip
"""Verdicts in the order in which they are counted; others follow."""


def _method(gate: Gate, planned: Design) -> str:
    many = f"{planned.replicate}s"
    design = (
        f"{many.capitalize()} are the replicates. The old stack was measured before and after the new one: slower or "
        "faster means that the new one differs from both, so that a drift that lasts is not taken for the upgrade’s; "
        "drifted means that the old stack differs from itself, and then nothing is said of the new one."
        if not planned.one_way
        else f"{many.capitalize()} are the replicates. The old stack was measured before the new one alone."
    )
    return (
        f"{design} Ratios are new over old, above 1 is worse; safe means that the whole interval lies within "
        f"{phrases.share(gate.margin)} of no change. Over all cases together, an upgrade that changes nothing is "
        f"called slower or drifted with a probability of at most {phrases.share(gate.q)}, where its {many} scatter "
        f"around one level. Where {many} come up in two modes, it is up to {phrases.share(0.04)} with three {many} a "
        "phase."
    )


def _notes(design: Design, phases: Phases, found: Sequence[Setting]) -> Iterator[str]:
    if design.replicate == "run":
        yield (
            "Two image sets stand for the sides, and a run stands for a boot: what a reboot changes is not covered. "
            "The machine's own stack did not change. What an identical arm would show, the old side's runs show: those "
            "after are compared with those before."
        )
    elif not any(each.meant == "upgrade" for each in found):
        yield "Nothing that is recorded of the software stack differs between the sides."
    states = {
        run.facts.id: {answer.windows_of for answer in run.answers.values()} - {""}
        for run in (*phases.before, *phases.new, *phases.after)
    }
    other = [name for name, seen in states.items() if seen - {"calm"}]
    if other and any("calm" in seen for seen in states.values()):
        yield (
            f"Not of calm windows in every case: {', '.join(other)}. Such a case is judged by the other "
            f"{design.replicate}s, where each phase has {LEAST_BOOTS} of them."
        )
    if design.one_way:
        yield (
            "The old stack was not measured again afterwards: a drift of the machine cannot be told from the upgrade."
        )
