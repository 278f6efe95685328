"""`upgrade verdict`: the runs of the boots in, one `Comparison` out; pure apart from `load`.

What else changed is asked first: a setting that was lost on the way explains a slowdown as well as the upgrade does.
"""

from collections.abc import Collection, Iterator, Sequence
from pathlib import Path

import msgspec

from suite.analysis.types import Estimate
from suite.compare import answers, changes, drift, matching, rows, sides
from suite.compare.answers import NOT_MEASURED
from suite.compare.conclusion import exit_code
from suite.compare.matching import Pair
from suite.compare.reduction import Reduced, question
from suite.compare.types import Comparison, Drift, Gate, Movement, Outcome, Row, RunFacts, Setting, Side, Verdict
from suite.compare.verdicts import of_metric
from suite.errors import LevelfieldError
from suite.report.units import plural
from suite.statistics import bracket, bracketing, verdicts
from suite.statistics.bracket import Bracketed, Costs, Ratio
from suite.upgrade import answer, crossing, records, settings
from suite.upgrade.events import Begun
from suite.upgrade.progress import Phase, State, advice
from suite.upgrade.settings import Difference


class Phases(msgspec.Struct, frozen=True):
    """The runs of each phase."""

    before: Sequence[Reduced]
    new: Sequence[Reduced]
    after: Sequence[Reduced] = ()

    @property
    def old(self) -> Sequence[Reduced]:
        return (*self.before, *self.after)


def load(state: State, reports: Path) -> Phases:
    """Read the runs of an upgrade; each must be the one that was counted.

    Parameters
    ----------
    state, reports
        The upgrade, and the folder of run folders.

    Raises
    ------
    LevelfieldError
        One side was not measured yet, or a run is gone or was changed.
    """
    if not state.of_phase(Phase.BEFORE) or not state.of_phase(Phase.NEW):
        raise LevelfieldError(
            f"The upgrade {state.begun.name} has nothing to compare yet: both stacks must have been measured.",
            fix=advice(state),
        )
    records.check(state, reports)
    before, new, after = (
        sides.load_all([records.path(boot, reports) for boot in state.of_phase(phase)]) for phase in Phase
    )
    return Phases(before, new, after)


def judge(begun: Begun, phases: Phases, accepted: Collection[str] = ()) -> Comparison:
    """Judge an upgrade.

    Parameters
    ----------
    begun
        As it was declared.
    phases
        Its runs.
    accepted
        Names or patterns of settings (`clock, governor`) that may differ.

    Returns
    -------
    Comparison
        What else changed, a verdict on each case, and whether answers moved.
    """
    found = settings.differences([run.machine for run in phases.old], [run.machine for run in phases.new])
    meant = _meant(found, accepted)
    gate = Gate(margin=begun.how.margin)
    pairs = _pairs(begun, phases)
    drifts = drift.find_drift(pairs, phases.old, phases.new, same_hardware=True)
    compared = rows.compare_rows(phases.old, phases.new, pairs, gate, rows.Selection(), same_hardware=True)
    judged, crossed = _bracketed(begun, compared, phases, gate)
    if missing := _missing(begun, phases):
        judged, crossed = (tuple(_too_early(row, missing) for row in found) for found in (judged, crossed))
    judged, crossed = _with_answers(judged, drifts), _with_answers(crossed, drifts)
    lost = [each for each in meant if each.meant == "not meant"]
    if lost:
        judged = tuple(map(_not_attributable, judged))
        crossed = tuple(_not_attributable(row) if row.effect == "interaction" else row for row in crossed)
        drifts = tuple(map(_drift_not_attributable, drifts))
    judged, crossed = rows.in_order(judged), rows.in_order(crossed)
    comparison = Comparison(
        answer=answer.of(judged, drifts, lost, gate, crossed, missing),
        exit_code=0,
        kind="upgrade",
        old=Side(_label("old stack", begun, 0, (len(phases.before), len(phases.after))), _facts(phases.old)),
        new=Side(_label("new stack", begun, 1, (len(phases.new),)), _facts(phases.new)),
        notes=tuple(_notes(begun, phases, found)),
        rows=judged,
        drifts=drifts,
        changes=changes.compare_environments(phases.old, phases.new, pairs),
        gate=gate,
        method=answer.method(gate, bracketed=not begun.one_way, crossed=begun.crossed),
        replicate="boot",
        order="turns" if phases.after else "lumps",
        settings=meant,
        crossed=crossed,
    )
    return msgspec.structs.replace(comparison, exit_code=exit_code(comparison))


def _meant(found: Sequence[Difference], accepted: Collection[str]) -> tuple[Setting, ...]:
    lost = settings.unintended(found, accepted)
    return tuple(
        Setting(
            where=each.group,
            name=each.name,
            old=each.old,
            new=each.new,
            meant="upgrade" if each.kind == "stack" else "not meant" if each in lost else "accepted",
            restore=each.restore,
            reason=each.reason.rstrip("."),
        )
        for each in sorted(found, key=lambda each: each not in lost)
    )


def _pairs(begun: Begun, phases: Phases) -> tuple[Pair, ...]:
    """Return the arms that answer each other; where image sets are the sides, one arm of each."""
    old, new = ({name: arm for run in runs for name, arm in run.arms.items()} for runs in (phases.old, phases.new))
    if begun.declared and len(old) == len(new) == 1:
        return ((next(iter(old)), next(iter(new))),)
    return matching.pair_arms(old, new)


def _bracketed(
    begun: Begun, compared: Sequence[Row], phases: Phases, gate: Gate
) -> tuple[tuple[Row, ...], tuple[Row, ...]]:
    """Judge all rows that have costs on both sides together; and, of two arms, their effects and interactions."""
    asked = crossing.questions(phases.before, phases.new, phases.after) if begun.crossed else ()
    level = gate.q * (1 - crossing.ARMS_SHARE) if begun.crossed else gate.q
    interactions = {row.id: (row, each) for each in asked for row in (crossing.interaction(each),)}
    costs = {
        row.id: Costs(
            before=_costs(phases.before, row.old_arm, row.case.id),
            new=_costs(phases.new, row.new_arm, row.case.id),
            after=_costs(phases.after, row.old_arm, row.case.id),
        )
        for row in compared
        if row.ratio is not None and row.reason != NOT_MEASURED
    } | {name: each.ratios for name, (_, each) in interactions.items() if each.verdict is None}
    found = bracket.judge(list(costs.values()), margin=gate.margin, level=level)
    judged = dict(zip(costs, found, strict=True))

    def of(row: Row) -> Row:
        return _judged(row, judged[row.id], costs[row.id]) if row.id in judged else _unmeasured(row)

    crossed = (crossing.in_words(of(row), each) for row, each in interactions.values())
    return tuple(map(of, compared)), (*crossing.effects(asked, gate), *crossed)


def _costs(runs: Sequence[Reduced], arm: str, case: str) -> tuple[float, ...]:
    found = answers.by_arm(runs).get(arm, {}).get(case)
    return tuple(found.costs) if found is not None else ()


_OUTCOMES: dict[Verdict, Outcome] = {
    Verdict.SAFE: "fine",
    Verdict.FASTER: "fine",
    Verdict.LEANER: "fine",
    Verdict.SLOWER: "worse",
    Verdict.HUNGRIER: "worse",
}
_SPEEDS = {bracketing.Verdict.SLOWER: verdicts.Verdict.SLOWER, bracketing.Verdict.FASTER: verdicts.Verdict.FASTER}


def _judged(row: Row, found: Bracketed, costs: Costs) -> Row:
    speed = _SPEEDS.get(found.verdict) if not row.effect else None
    verdict = of_metric(speed, row.metric) if speed is not None else Verdict(found.verdict.value)
    return msgspec.structs.replace(
        row,
        verdict=verdict,
        outcome=_OUTCOMES.get(verdict, "undecided"),
        reason=found.reason.rstrip("."),
        ratio=_estimate(found.ratio) or row.ratio,
        drift=_estimate(found.drift),
        confidence=found.confidence if found.ratio is not None else None,
        p_value=None,
        p_adjusted=None,
        old_replicates=len(costs.before) + len(costs.after),
        new_replicates=len(costs.new),
        further=found.further,
        further_seconds=None,
    )


def _estimate(found: Ratio | None) -> Estimate | None:
    return Estimate(found.value, found.low, found.high) if found is not None else None


def _unmeasured(row: Row) -> Row:
    """Return a row of a smoke run as undecided; others stand as they are."""
    return msgspec.structs.replace(row, verdict=Verdict.UNDECIDED) if row.reason == NOT_MEASURED else row


def _with_answers(judged: Sequence[Row], drifts: Sequence[Drift]) -> tuple[Row, ...]:
    """Say of the rows whose answers moved that they did: a time of something else is no comparison."""
    moved = {
        (each.old_arm, each.new_arm, (each.model, each.precision, each.batch, each.threads, each.device))
        for each in drifts
        if each.movement is Movement.BEYOND and each.outcome == "worse"
    }

    def has_moved(row: Row) -> bool:
        pairs = ((arm, arm) for arm in (row.old_arm, row.new_arm)) if row.effect else ((row.old_arm, row.new_arm),)
        return any((*pair, question(row.case)) in moved for pair in pairs)

    return tuple(
        msgspec.structs.replace(
            row, verdict=Verdict.MOVED, outcome="worse", reason=f"of its speed: {row.verdict}", further=None
        )
        if row.ratio is not None and has_moved(row)
        else row
        for row in judged
    )


def _missing(begun: Begun, phases: Phases) -> str:
    """Name the boots that are still to be measured: `2 boots of the phase after`; empty where all are."""
    counts = dict(zip(Phase, map(len, (phases.before, phases.new, phases.after)), strict=True))
    if begun.one_way:
        del counts[Phase.AFTER]
    unit = "run" if begun.declared else "boot"
    short = {phase: begun.boots - count for phase, count in counts.items() if count < begun.boots}
    return " and ".join(f"{plural(count, unit)} of the phase {phase}" for phase, count in short.items())


def _too_early(row: Row, missing: str) -> Row:
    """Take back a verdict on speed that came before the last boot: one that can be asked at any time errs more."""
    if row.ratio is None:
        return row
    return msgspec.structs.replace(
        row,
        verdict=Verdict.UNDECIDED,
        outcome="undecided",
        reason=f"too early: {missing} to come",
        confidence=None,
        further=None,
    )


def _not_attributable(row: Row) -> Row:
    if row.ratio is None or row.verdict in (Verdict.UNDECIDED, Verdict.DRIFTED):
        return row
    return msgspec.structs.replace(
        row,
        verdict=Verdict.NOT_ATTRIBUTABLE,
        outcome="undecided",
        reason=f"{row.verdict}, and settings changed with the upgrade",
        further=None,
        confidence=None,
    )


def _drift_not_attributable(found: Drift) -> Drift:
    if found.movement is not Movement.BEYOND:
        return found
    return msgspec.structs.replace(found, outcome="undecided", reason="settings changed with the upgrade")


def _label(stack: str, begun: Begun, side: int, boots: tuple[int, ...]) -> str:
    unit = "run" if begun.declared else "boot"
    name = ", ".join(begun.selections[side].backends) if begun.declared else stack
    if len(boots) > 1 and boots[1]:
        return f"{name} ({plural(boots[0], unit)} before, {boots[1]} after)"
    return f"{name} ({plural(boots[0], unit)})"


def _facts(runs: Sequence[Reduced]) -> tuple[RunFacts, ...]:
    return tuple(run.facts for run in runs)


def _notes(begun: Begun, phases: Phases, found: Sequence[Difference]) -> Iterator[str]:
    if begun.declared:
        yield (
            "Two image sets stand for the sides, and a run stands for a boot: what a reboot changes is not covered. "
            "The machine's own stack did not change."
        )
    elif not any(each.kind == "stack" for each in found):
        yield "Nothing that is recorded of the software stack differs between the sides."
    if begun.crossed:
        yield f"Every boot measured both arms in turns: {' and '.join(phases.before[0].arms)}."
    if begun.one_way:
        yield (
            "The old stack was not measured again afterwards: a drift of the machine cannot be told from the upgrade."
        )
