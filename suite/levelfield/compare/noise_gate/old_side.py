"""The old side of a comparison with a gate: the runs of its evidence, or what the gate itself holds of them."""

import math
from collections.abc import Sequence
from pathlib import Path

import msgspec

from levelfield.compare import baselines, changes, phrases, sides
from levelfield.compare.noise_gate import file
from levelfield.compare.noise_gate.derive import settings_of
from levelfield.compare.noise_gate.file import GateCase, NoiseGate
from levelfield.compare.reduction import Answer, Reduced
from levelfield.compare.types import Derived, Gate, RunFacts
from levelfield.errors import LevelfieldError


class OldSide(msgspec.Struct, frozen=True):
    """Runs of the old side."""

    runs: tuple[Reduced, ...]
    at_hand: bool
    """Whether they are the records themselves, unchanged; else they have costs and no environment and outputs."""


def with_gate(
    path: Path, new: Sequence[Reduced], reports: Path, criteria: Gate
) -> tuple[tuple[Reduced, ...], Gate, str]:
    """Return the old side that a gate's file gives, the criteria with its limits, and the side's name.

    `new`: runs of the new side, which must be comparable. Raises LevelfieldError: as `file.read`, `check_comparable`
    and `old_side`.
    """
    gate = file.read(path)
    check_comparable(gate, new)
    found = old_side(gate, reports)
    derived = Derived(
        baseline=gate.baseline,
        made=gate.made,
        runs=len(gate.evidence),
        cases=tuple(case.id for case in gate.case),
        false_alarms=gate.false_alarms,
        power=gate.power,
        at_hand=found.at_hand,
    )
    return found.runs, msgspec.structs.replace(criteria, derived=derived), f"gate of baseline {gate.baseline}"


def old_side(gate: NoiseGate, reports: Path) -> OldSide:
    """Return the runs that a gate was derived from.

    `gate`: the gate, whose content is not trusted. Raises LevelfieldError: a record was changed, or its path lies
    outside of the folder, or this Levelfield computes other costs from it.
    """
    evidence = baselines.Baseline(name=gate.baseline, set_at=gate.made, runs=gate.evidence)
    places = baselines.places(evidence, reports)
    if not all(place.is_file() for place in places):
        return OldSide(tuple(_stand_in(gate, number) for number in range(len(gate.evidence))), at_hand=False)
    runs = tuple(sides.load_all(baselines.records(evidence, reports)))
    for number, run in enumerate(runs):
        for case in gate.case:
            answer = run.answers.get((case.arm.id, case.question.id))
            cost = answer.cost if answer is not None else None
            if cost is None or not math.isclose(cost, case.costs[number], rel_tol=1e-9):
                raise LevelfieldError(
                    f"The cost of {case.id} in {places[number]} is not the one that the gate holds.",
                    fix="Derive the gate again: it was edited, or made by another version of Levelfield.",
                )
    return OldSide(runs, at_hand=True)


def _stand_in(gate: NoiseGate, number: int) -> Reduced:
    """Return a run of the evidence as far as the gate holds it."""
    evidence = gate.evidence[number]
    return Reduced(
        facts=RunFacts(id=evidence.id, started=evidence.started, finished=evidence.started, sha256=evidence.sha256),
        seconds=None,
        launcher=gate.launcher,
        timed_region=gate.settings.get("timed region", ""),
        arms={case.arm.id: case.arm for case in gate.case},
        cases={case.question.id: case.question for case in gate.case},
        answers={(case.arm.id, case.question.id): _answer(case, number) for case in gate.case},
        parities={},
        hardware=gate.hardware,
        machine={},
        images=(),
        environment={"settings": gate.settings},
    )


def _answer(case: GateCase, number: int) -> Answer:
    return Answer(
        standing="shown",
        cost=case.costs[number],
        inputs=frozenset(case.inputs),
        weights=frozenset(case.weights),
        onnx=frozenset(case.onnx),
        images=frozenset(case.images),
        target=frozenset(case.target),
    )


def check_comparable(gate: NoiseGate, new: Sequence[Reduced]) -> None:
    """Refuse new runs that a gate says nothing about.

    Raises LevelfieldError: other hardware, or other settings: their noise is not the gate's.
    """
    for run in new:
        differences = changes.hardware_differences(gate.hardware, run.hardware)
        known = changes.have_same_hardware((_stand_in(gate, 0), run))
        if known is not True:
            what = f": {phrases.clean('; '.join(differences))}" if differences else ", or on hardware that is not known"
            raise LevelfieldError(
                f"The run {phrases.clean(run.facts.id, 100)} was made on other hardware than the gate's runs{what}.",
                fix="Derive a gate from runs of this machine: limits of one say nothing about another.",
            )
        mine = settings_of(run) | {"launcher": run.launcher}
        theirs = gate.settings | {"launcher": gate.launcher}
        other = [f"{name} ({theirs[name]} and {mine.get(name)})" for name in theirs if mine.get(name) != theirs[name]]
        if other:
            raise LevelfieldError(
                f"The run {phrases.clean(run.facts.id, 100)} was measured with other settings than the gate's runs: "
                f"{phrases.clean('; '.join(other))}.",
                fix="Measure as the gate's runs were, or derive a gate from runs like this one.",
            )
