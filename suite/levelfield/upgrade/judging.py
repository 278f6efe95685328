"""What is said of a case over the boots of an upgrade, and what takes that back."""

from collections.abc import Sequence

import msgspec

from levelfield.analysis.types import Estimate
from levelfield.compare.reduction import Answer, question
from levelfield.compare.types import Drift, Movement, Outcome, Row, Verdict
from levelfield.compare.verdicts import of_metric
from levelfield.statistics import bracketing, verdicts
from levelfield.statistics.bracket import Bracketed, Costs, Ratio
from levelfield.statistics.bracketing import LEAST_BOOTS

_OUTCOMES: dict[Verdict, Outcome] = {
    Verdict.SAFE: "fine",
    Verdict.FASTER: "fine",
    Verdict.LEANER: "fine",
    Verdict.SLOWER: "worse",
    Verdict.HUNGRIER: "worse",
}
_DIFFERENT = {bracketing.Verdict.SLOWER: verdicts.Verdict.SLOWER, bracketing.Verdict.FASTER: verdicts.Verdict.FASTER}


def over_boots(row: Row, found: Bracketed, costs: Costs) -> Row:
    """Return what is said of a case from its boots."""
    verdict = Verdict(found.verdict.value)
    different = _DIFFERENT.get(found.verdict)
    if different is not None:
        verdict = of_metric(different, row.metric)
    return msgspec.structs.replace(
        row,
        verdict=verdict,
        outcome=_OUTCOMES.get(verdict, "undecided"),
        reason=found.reason.rstrip("."),
        ratio=_estimate(found.ratio) or row.ratio,
        drift=_estimate(found.drift),
        confidence=found.confidence if found.ratio is not None else None,
        old_replicates=len(costs.before) + len(costs.after),
        new_replicates=len(costs.new),
        further=found.further,
    )


def costs(before: Sequence[Answer], new: Sequence[Answer], after: Sequence[Answer]) -> Costs:
    """Return the costs of boots: of those of calm windows alone, where each phase has enough of them.

    What a machine does in another state is no replicate: one boot of all windows would hide any change. Which state it
    was follows from probes, never from an arm's times.
    """
    phases = before, new, after
    calm = [[answer for answer in phase if answer.windows_of == "calm"] for phase in phases]
    chosen = calm if _calm_phases(phases) == sum(map(bool, phases)) else phases
    return Costs(*(tuple(answer.cost for answer in phase if answer.cost is not None) for phase in chosen))


def _calm_phases(phases: Sequence[Sequence[Answer]]) -> int:
    """Return how many phases have enough boots of calm windows."""
    return sum(sum(answer.windows_of == "calm" for answer in phase) >= LEAST_BOOTS for phase in phases)


def in_unlike_states(row: Row, *phases: Sequence[Answer]) -> Row:
    """Take back a verdict where the machine was calm in some phases and not in others, which cannot be compared."""
    if not 0 < _calm_phases(phases) < sum(map(bool, phases)):
        return row
    return _undecided(row, "the machine was calm in some phases and contended in others; begin again when it is calm")


def _undecided(row: Row, reason: str) -> Row:
    return msgspec.structs.replace(
        row, verdict=Verdict.UNDECIDED, outcome="undecided", reason=reason, confidence=None, further=None
    )


def _estimate(found: Ratio | None) -> Estimate | None:
    return Estimate(found.value, found.low, found.high) if found is not None else None


def with_answers(judged: Sequence[Row], drifts: Sequence[Drift]) -> tuple[Row, ...]:
    """Say of the rows whose answers moved that they did: a time of something else is no comparison."""
    moved = {
        (each.old_arm, each.new_arm, (each.model, each.precision, each.batch, each.threads, each.device))
        for each in drifts
        if each.movement is Movement.BEYOND and each.outcome == "worse"
    }

    def has_moved(row: Row) -> bool:
        return (row.old_arm, row.new_arm, question(row.case)) in moved

    return tuple(
        msgspec.structs.replace(
            row, verdict=Verdict.MOVED, outcome="worse", reason=f"of its speed: {row.verdict}", further=None
        )
        if row.ratio is not None and has_moved(row)
        else row
        for row in judged
    )


def too_early(row: Row, missing: str) -> Row:
    """Take back a verdict that came before the last boot: one that can be asked at any time errs more."""
    if row.ratio is None:
        return row
    return _undecided(row, f"too early: {missing} to come")


def not_attributable(row: Row) -> Row:
    """Take back a verdict on a difference that settings which changed with the upgrade may explain."""
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


def drift_not_attributable(found: Drift) -> Drift:
    """Say of answers that moved that settings which changed with the upgrade may be why."""
    if found.movement is not Movement.BEYOND:
        return found
    return msgspec.structs.replace(found, outcome="undecided", reason="settings changed with the upgrade")
