"""`upgrade verdict`: the runs of the boots in, one `Comparison` out; pure apart from `load`.

What else changed is asked first: a setting that was lost on the way explains a slowdown as well as the upgrade does.
"""

from collections.abc import Collection, Iterator, Sequence
from pathlib import Path

import msgspec

from levelfield.compare import answers, changes, drift, matching, rows, sides
from levelfield.compare.answers import NOT_MEASURED
from levelfield.compare.conclusion import exit_code
from levelfield.compare.matching import Pair
from levelfield.compare.reduction import Answer, Reduced
from levelfield.compare.types import Comparison, Gate, Row, RunFacts, Setting, Side, Verdict
from levelfield.errors import LevelfieldError
from levelfield.report.units import plural
from levelfield.statistics import bracket
from levelfield.statistics.bracketing import LEAST_BOOTS
from levelfield.upgrade import answer, judging, records, settings
from levelfield.upgrade.events import Begun
from levelfield.upgrade.progress import Phase, State, advice, missing
from levelfield.upgrade.settings import Difference


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

    Raises LevelfieldError: one side was not measured yet, or a run is gone or was changed.
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
    """Judge an upgrade."""
    found = settings.differences([run.machine for run in phases.old], [run.machine for run in phases.new])
    meant = _meant(found, accepted)
    gate = Gate(margin=begun.how.margin)
    pairs = _pairs(begun, phases)
    drifts = drift.find_drift(pairs, phases.old, phases.new, same_hardware=True)
    compared = rows.compare_rows(phases.old, phases.new, pairs, gate, rows.Selection(), same_hardware=True)
    judged = _bracketed(compared, phases, gate)
    if to_come := _to_come(begun, phases):
        judged = tuple(judging.too_early(row, to_come) for row in judged)
    judged = judging.with_answers(judged, drifts)
    lost = [each for each in meant if each.meant == "not meant"]
    if lost:
        judged = tuple(map(judging.not_attributable, judged))
        drifts = tuple(map(judging.drift_not_attributable, drifts))
    judged = rows.in_order(judged)
    comparison = Comparison(
        answer=answer.of(judged, drifts, lost, gate, to_come),
        exit_code=0,
        kind="upgrade",
        old=Side(_label("old stack", begun, 0, (len(phases.before), len(phases.after))), _facts(phases.old)),
        new=Side(_label("new stack", begun, 1, (len(phases.new),)), _facts(phases.new)),
        notes=tuple(_notes(begun, phases, found)),
        rows=judged,
        drifts=drifts,
        changes=changes.compare_environments(phases.old, phases.new, pairs),
        gate=gate,
        method=answer.method(gate, bracketed=not begun.one_way),
        replicate="boot",
        order="turns" if phases.after else "lumps",
        settings=meant,
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


def _bracketed(compared: Sequence[Row], phases: Phases, gate: Gate) -> tuple[Row, ...]:
    """Judge all rows that have costs on both sides together."""
    taken = {
        row.id: (
            _trusted(phases.before, row.old_arm, row.case.id),
            _trusted(phases.new, row.new_arm, row.case.id),
            _trusted(phases.after, row.old_arm, row.case.id),
        )
        for row in compared
        if row.ratio is not None and row.reason != NOT_MEASURED
    }
    costs = {case: judging.costs(*answers) for case, answers in taken.items()}
    found = bracket.judge(list(costs.values()), margin=gate.margin, level=gate.q)
    judged = dict(zip(costs, found, strict=True))

    def of(row: Row) -> Row:
        if row.id not in judged:
            return _unmeasured(row)
        plain = msgspec.structs.replace(row, p_value=None, p_adjusted=None, further_seconds=None)
        return judging.in_unlike_states(judging.over_boots(plain, judged[row.id], costs[row.id]), *taken[row.id])

    return tuple(map(of, compared))


def _trusted(runs: Sequence[Reduced], arm: str, case: str) -> tuple[Answer, ...]:
    found = answers.by_arm(runs).get(arm, {}).get(case)
    return found.trusted if found is not None else ()


def _unmeasured(row: Row) -> Row:
    """Return a row of a smoke run as undecided; others stand as they are."""
    return msgspec.structs.replace(row, verdict=Verdict.UNDECIDED) if row.reason == NOT_MEASURED else row


def _to_come(begun: Begun, phases: Phases) -> str:
    """Name the boots that are still to be measured: `2 boots of the phase after`; empty where all are."""
    counts = dict(zip(Phase, map(len, (phases.before, phases.new, phases.after)), strict=True))
    found = missing(begun, counts)
    return " and ".join(f"{plural(count, begun.replicate)} of the phase {phase}" for phase, count in found.items())


def _label(stack: str, begun: Begun, side: int, boots: tuple[int, ...]) -> str:
    name = ", ".join(begun.selections[side].backends) if begun.declared else stack
    if len(boots) > 1 and boots[1]:
        return f"{name} ({plural(boots[0], begun.replicate)} before, {boots[1]} after)"
    return f"{name} ({plural(boots[0], begun.replicate)})"


def _facts(runs: Sequence[Reduced]) -> tuple[RunFacts, ...]:
    return tuple(run.facts for run in runs)


def _notes(begun: Begun, phases: Phases, found: Sequence[Difference]) -> Iterator[str]:
    if begun.declared:
        yield (
            "Two image sets stand for the sides, and a run stands for a boot: what a reboot changes is not covered. "
            "The machine's own stack did not change. What an identical arm would show, the old side's runs show: those "
            "after are compared with those before."
        )
    elif not any(each.kind == "stack" for each in found):
        yield "Nothing that is recorded of the software stack differs between the sides."
    states = {
        run.facts.id: {answer.windows_of for answer in run.answers.values()} - {""}
        for run in (*phases.before, *phases.new, *phases.after)
    }
    other = [name for name, seen in states.items() if seen - {"calm"}]
    if other and any("calm" in seen for seen in states.values()):
        yield (
            f"Not of calm windows in every case: {', '.join(other)}. Such a case is judged by the other "
            f"{begun.replicate}s, where each phase has {LEAST_BOOTS} of them."
        )
    if begun.one_way:
        yield (
            "The old stack was not measured again afterwards: a drift of the machine cannot be told from the upgrade."
        )
