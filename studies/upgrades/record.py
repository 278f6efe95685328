"""The record of the upgrade trial: what `ab` made of nothing, of a known slowdown, and of released versions."""

from collections.abc import Sequence
from typing import ClassVar, Literal, TypeAlias

import msgspec

from studies.ab import AbRecord, Decision, decision
from suite.compare.types import Comparison, Movement, Verdict
from suite.record.schema import Image
from suite.statistics.proportions import Proportion, proportion

Kind: TypeAlias = Literal["same", "injected", "upgrade"]
DIFFERENT = frozenset({Verdict.FASTER, Verdict.SLOWER, Verdict.LEANER, Verdict.HUNGRIER})


class CaseDecision(Decision, frozen=True, kw_only=True):
    """The verdict of one case, with its name."""

    case: str


class Move(msgspec.Struct, frozen=True):
    """What became of one answer."""

    answer: str
    movement: Movement
    distance: float | None


class Trial(msgspec.Struct, frozen=True):
    """One `ab`."""

    kind: Kind
    old: str
    new: str
    inject: str
    """The slowdown of the new arm; empty: none."""
    run: str
    started: str
    seconds: float
    """Machine time, launches and all; images were made before."""
    answer: str
    decisions: tuple[CaseDecision, ...]
    moves: tuple[Move, ...]

    @property
    def different(self) -> bool:
        """Whether any case was called different."""
        return any(decision.verdict in DIFFERENT for decision in self.decisions)

    @property
    def all_slower(self) -> bool:
        """Whether every case was called slower."""
        return bool(self.decisions) and all(decision.verdict is Verdict.SLOWER for decision in self.decisions)


class Finding(msgspec.Struct, frozen=True):
    """How often `ab` said what, over all trials of a kind."""

    kind: Kind
    counted: str = msgspec.field(name="wanted")
    """What is counted, in words."""
    by_trial: Proportion
    by_decision: Proportion
    verdicts: dict[str, int]
    """Decisions by their verdict."""
    seconds: float
    """Machine time of all of them."""


class Record(AbRecord, frozen=True, kw_only=True):
    """The whole record."""

    TRIAL: ClassVar = "upgrade"

    images: tuple[Image, ...]
    trials: tuple[Trial, ...] = ()
    findings: tuple[Finding, ...] = ()


def trial_of(kind: Kind, inject: str, comparison: Comparison, seconds: float) -> Trial:
    """Reduce one comparison to what the record keeps of it.

    Parameters
    ----------
    kind : Kind
        Of the trial.
    inject : str
        The slowdown of the new arm; empty: none.
    comparison : Comparison
        What `ab` found.
    seconds : float
        Machine time.

    Returns
    -------
    Trial
    """
    facts = comparison.new.runs[0]
    return Trial(
        kind=kind,
        old=comparison.old.label,
        new=comparison.new.label,
        inject=inject,
        run=facts.id,
        started=facts.started,
        seconds=seconds,
        answer=comparison.answer,
        decisions=tuple(CaseDecision(case=row.case.id, **decision(row)) for row in comparison.rows),
        moves=tuple(Move(drift.id, drift.movement, drift.distance) for drift in comparison.drifts),
    )


def findings(trials: Sequence[Trial]) -> tuple[Finding, ...]:
    """Count what was said of nothing and of a known slowdown; released versions have no known truth to count."""
    known: tuple[tuple[Kind, str, frozenset[Verdict]], ...] = (
        ("same", "the same thing was called different", DIFFERENT),
        ("injected", "the slowdown was found", frozenset({Verdict.SLOWER})),
    )
    found = []
    for kind, counted, verdicts in known:
        chosen = [trial for trial in trials if trial.kind == kind]
        if not chosen:
            continue
        decisions = [decision.verdict for trial in chosen for decision in trial.decisions]
        hits = [trial.different if kind == "same" else trial.all_slower for trial in chosen]
        found.append(
            Finding(
                kind=kind,
                counted=counted,
                by_trial=proportion(sum(hits), len(chosen)),
                by_decision=proportion(sum(each in verdicts for each in decisions), max(len(decisions), 1)),
                verdicts={each.value: decisions.count(each) for each in Verdict if each in decisions},
                seconds=sum(trial.seconds for trial in chosen),
            )
        )
    return tuple(found)
