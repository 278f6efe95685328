"""The runs of a gate: limits are derived from them, and they are the old side of a comparison with it."""

import fnmatch
import math
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path

import msgspec
import numpy as np
from rich.console import Console

from levelfield import terminals
from levelfield.analysis.status import SMOKE
from levelfield.analysis.summary import Answer, Reduced, RunFacts
from levelfield.compare import baselines, changes, phrases, sides
from levelfield.compare import gate as gates
from levelfield.compare.baselines import Baseline
from levelfield.compare.sides import CaseResults
from levelfield.compare.types import Derived, Gate
from levelfield.errors import LevelfieldError
from levelfield.names import made_of
from levelfield.report import units
from levelfield.report.tables import Cell, Column, make, rendered, text
from levelfield.statistics import prediction
from levelfield.version import __version__

LEAST_DAYS = gates.FEW_DAYS + 1
"""Fewest days that the runs of a gate are of. Where a machine differs from day to day, the spread of one day's runs is
too small for those of another: with twelve runs, and days that scatter twice as much as runs within a day, 11 % of new
runs without a change are called worse in place of 1 % (two days: 3.7 %, three: 1.8 %, five: 0.8 %)."""
_DIGESTS = ("inputs", "weights", "onnx", "target", "latency_target")


class Demands(msgspec.Struct, frozen=True):
    """What a gate shall hold."""

    runs_each: int = 1
    """New runs of a comparison."""
    false_alarms: float = 0.01
    """Of a comparison, over all cases together."""
    power: float = 0.9
    accept: tuple[str, ...] = ()
    """Globs on differences between the runs that do not matter, such as `Kernel: *`."""
    same_day: bool = False
    """Later runs are made on the day of these: they may be of fewer than `LEAST_DAYS`."""


def derive(baseline: Baseline, runs: Sequence[Reduced], demands: Demands) -> gates.NoiseGate:
    """Derive a gate.

    Raises LevelfieldError: too few runs or too many, smoke runs, runs of too few days, on unlike hardware or under
    unlike conditions, or no case that could have a limit.
    """
    _check_number(baseline, runs)
    accepted = _check_alike(baseline, runs, demands.accept)
    sides.check_measured_once(runs)
    if not demands.same_day:
        _check_days(baseline, runs)
    pairs = {
        (arm, case): results
        for arm, cases in sides.by_arm(runs).items()
        for case, results in cases.items()
        if not results.unsupported
    }
    reasons = {
        key: sides.SLOWED if any(run.arms[key[0]].inject for run in runs if key[0] in run.arms) else _why_none(results)
        for key, results in pairs.items()
    }
    judged = [key for key, reason in reasons.items() if not reason]
    if not judged:
        raise LevelfieldError(
            f"No case of the baseline {baseline.name} can have a limit: {next(iter(reasons.values()), 'none ran')}.",
            fix="Set the baseline to runs that measured the same cases without failures.",
        )
    level = demands.false_alarms / len(judged)
    return made_of(
        gates.NoiseGate,
        demands,
        runs[0],
        hardware=changes.known_hardware(runs),
        format=gates.FORMAT,
        made=datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        version=__version__,
        baseline=baseline.name,
        settings=settings_of(runs[0]),
        evidence=tuple(
            gates.Evidence(file=pointer.file, sha256=pointer.sha256, id=run.facts.id, started=run.moment)
            for pointer, run in zip(baseline.runs, runs, strict=True)
        ),
        case=tuple(_case(key, pairs[key], runs, level, demands) for key in judged),
        without=tuple(gates.Without(id="/".join(key), reason=reason) for key, reason in reasons.items() if reason),
        accepted=accepted,
    )


def settings_of(run: Reduced) -> dict[str, str]:
    """Return the settings under which the spread between runs is what it is."""
    return dict(run.environment.get("settings", {}))


def _check_number(baseline: Baseline, runs: Sequence[Reduced]) -> None:
    sides.check_distinct([run.facts.id for run in runs])
    if not prediction.FEWEST <= len(runs) <= prediction.MOST:
        raise LevelfieldError(
            f"The baseline {baseline.name} has {units.plural(len(runs), 'run')}; noise is estimated from "
            f"{prediction.FEWEST} to {prediction.MOST}.",
            fix=f"Measure the same thing again, {prediction.FEWEST} times, and set the baseline to all runs.",
        )
    if any(SMOKE in run.facts.labels for run in runs):
        raise LevelfieldError(
            f"The baseline {baseline.name} has smoke runs, whose times have no meaning.",
            fix="Measure with --profile standard.",
        )


def _check_days(baseline: Baseline, runs: Sequence[Reduced]) -> None:
    days = gates.days([run.moment for run in runs])
    if days < LEAST_DAYS:
        of = f"are of {units.plural(days, 'day')}" if days else "do not all say when they were made"
        raise LevelfieldError(
            f"The runs of the baseline {baseline.name} {of}, and limits for other days need {LEAST_DAYS}: what varies "
            "from day to day is not in their spread, so that later runs without a change would be called worse far "
            "more often than is stated.",
            fix=f"Measure on {LEAST_DAYS} days or more, or say with --same-day that later runs are made on the same "
            "day.",
        )


def _check_alike(baseline: Baseline, runs: Sequence[Reduced], accept: Sequence[str]) -> tuple[str, ...]:
    """Return the accepted differences between the runs; refuse others."""
    if changes.have_same_hardware(runs) is not True:
        found = changes.among(runs)
        what = f": {phrases.clean('; '.join(found))}" if found else ", or on hardware that is not known"
        raise LevelfieldError(
            f"The runs of the baseline {baseline.name} were made on unlike hardware{what}.",
            fix="Set the baseline to runs of one machine.",
        )
    found = list(dict.fromkeys(_differences(runs)))
    refused = [each for each in found if not any(fnmatch.fnmatchcase(each, glob) for glob in accept)]
    if refused:
        more = f"; and {len(refused) - gates.MOST_NAMED} more" if len(refused) > gates.MOST_NAMED else ""
        raise LevelfieldError(
            f"The runs of the baseline {baseline.name} differ, so that their spread is not noise alone: "
            f"{'; '.join(refused[: gates.MOST_NAMED])}{more}.",
            fix="Set the baseline to runs without a change, or accept a difference that does not matter with --accept "
            f"{refused[0].partition(':')[0].split()[0]}'*'.",
        )
    return tuple(found[:100])


def _differences(runs: Sequence[Reduced]) -> Iterator[str]:
    """Yield `Kernel: release (6.1 and 6.2)` for every fact that is not the same in all runs."""
    pairs = [(arm, arm) for arm in runs[0].arms]
    for group in changes.compare_environments(runs[:1], runs[1:], pairs):
        for each in group.changed:
            yield f"{phrases.clean(group.title, 80)}: {phrases.change(each)}"
    places = sorted({run.launcher for run in runs})
    if len(places) > 1:
        yield f"Launcher: {' and '.join(places)}"


def _why_none(results: CaseResults) -> str:
    costs = results.costs
    if len(costs) < results.runs:
        why = next((answer.reason for answer in results.answers if answer.reason and answer.cost is None), "")
        return phrases.clean(f"measured in {len(costs)} of {units.plural(results.runs, 'run')}. {why}").rstrip(". ")
    if sides.different_digests(results.answers, results.answers):
        return "not the same question in all runs"
    if prediction.from_runs(np.log(costs)).spread == 0:
        return "all runs gave the same figure, so that its noise is not known"
    return ""


def _case(
    key: tuple[str, str], results: CaseResults, runs: Sequence[Reduced], level: float, demands: Demands
) -> gates.GateCase:
    arm = next(run.arms[key[0]] for run in runs if key[0] in run.arms)
    question = next(run.cases[key[1]] for run in runs if key[1] in run.cases)
    costs = tuple(results.costs)
    given = {name: _union(results.answers, name) for name in _DIGESTS}
    found = gates.figures(costs, demands.runs_each, level, demands.power)
    return msgspec.convert(
        {
            "id": "/".join(key),
            "metric": question.scenario,
            "unit": gates.unit_of(question),
            **found,
            "costs": costs,
            "windows_of": [answer.windows_of for answer in results.trusted],
            "arm": arm,
            "question": question,
            **given,
        },
        gates.GateCase,
    )


def _union(found: Sequence[Answer], name: str) -> tuple[str, ...]:
    return tuple(sorted(frozenset[str]().union(*(getattr(answer, name) for answer in found))))


def with_gate(path: Path, new: Sequence[Reduced], reports: Path, criteria: Gate) -> tuple[list[Reduced], Gate, str]:
    """Return the old side that a gate's file gives, the criteria with its limits, and the side's name.

    Raises LevelfieldError: as `gate.read`, `check_comparable`
    and `old_side`.
    """
    gate = gates.read(path)
    check_comparable(gate, new)
    runs, absent = old_side(gate, reports)
    cases = tuple(case.id for case in gate.case)
    without = tuple(each.id for each in gate.without)
    derived = made_of(
        Derived, gate, runs=len(gate.evidence), cases=cases, without=without, at_hand=not absent, absent=absent
    )
    return runs, msgspec.structs.replace(criteria, derived=derived), f"gate of baseline {gate.baseline}"


def old_side(gate: gates.NoiseGate, reports: Path) -> tuple[list[Reduced], tuple[str, ...]]:
    """Return the runs that a gate was derived from, and the files of those that are not at hand.

    Those that are at hand are checked. Where any is absent, all have costs, and neither environments nor outputs.

    Raises LevelfieldError: a record was changed, or its path lies
    outside of the folder, or this Levelfield computes other costs from it.
    """
    evidence = baselines.Baseline(name=gate.baseline, set_at=gate.made, runs=gate.evidence)
    places = baselines.places(evidence, reports)
    at_hand = [number for number, place in enumerate(places) if place.is_file()]
    there = msgspec.structs.replace(evidence, runs=tuple(gate.evidence[number] for number in at_hand))
    runs = sides.load_all(baselines.records(there, reports))
    for number, run in zip(at_hand, runs, strict=True):
        unlike = changes.hardware_differences(run.hardware, gate.hardware)
        if unlike or (settings_of(run), run.launcher) != (gate.settings, gate.launcher):
            raise LevelfieldError(
                f"The settings and the hardware of {places[number]} are not those that the gate holds.",
                fix="Derive the gate again: it was edited, or made by another version of Levelfield.",
            )
        for case in gate.case:
            answer = run.answers.get((case.arm.id, case.question.id))
            cost = answer.cost if answer is not None else None
            if cost is None or not math.isclose(cost, case.costs[number], rel_tol=1e-9):
                raise LevelfieldError(
                    f"The cost of {case.id} in {places[number]} is not the one that the gate holds.",
                    fix="Derive the gate again: it was edited, or made by another version of Levelfield.",
                )
    absent = tuple(each.file for number, each in enumerate(gate.evidence) if number not in at_hand)
    return [_stand_in(gate, number) for number in range(len(places))] if absent else runs, absent


def _stand_in(gate: gates.NoiseGate, number: int) -> Reduced:
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


def _answer(case: gates.GateCase, number: int) -> Answer:
    return Answer(
        standing="shown",
        cost=case.costs[number],
        windows_of=case.windows_of[number] if case.windows_of else "",
        inputs=frozenset(case.inputs),
        weights=frozenset(case.weights),
        onnx=frozenset(case.onnx),
        target=frozenset(case.target),
        latency_target=frozenset(case.latency_target),
    )


def check_comparable(gate: gates.NoiseGate, new: Sequence[Reduced]) -> None:
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
        names = dict.fromkeys((*theirs, *mine))
        other = [
            f"{name} ({theirs.get(name)} and {mine.get(name)})" for name in names if mine.get(name) != theirs.get(name)
        ]
        if other:
            raise LevelfieldError(
                f"The run {phrases.clean(run.facts.id, 100)} was measured with other settings than the gate's runs: "
                f"{phrases.clean('; '.join(other))}.",
                fix="Measure as the gate's runs were, or derive a gate from runs like this one.",
            )


CASES: tuple[Column[gates.GateCase], ...] = (
    Column("case", lambda case: phrases.clean(case.id), numeric=False),
    Column("cost", lambda case: phrases.cost(case.cost, case.question.scenario)),
    Column(
        "spread",
        lambda case: Cell(units.percent(case.spread), units.percent_range(case.spread_low, case.spread_high)),
        interval="95 %",
    ),
    Column(
        "limit",
        lambda case: f"{phrases.cost(case.limit, case.question.scenario)} (× {phrases.factor(case.worse_above)})",
    ),
    Column("finds", lambda case: _change(case.finds)),
)


def show(gate: gates.NoiseGate, console: Console) -> None:
    """Print a gate. Texts from records are printed as they are, never as rich's markup."""
    terminals.show(console, (text(phrases.clean(line, 1000)) for line in _sentences(gate)))
    terminals.show(console, [rendered(make("", CASES, gate.case))])
    for each in gate.without:
        line = f"No limit for {phrases.clean(each.id)}: {phrases.clean(each.reason)}."
        terminals.show(console, [text(line, "yellow")])


def _sentences(gate: gates.NoiseGate) -> Iterator[str]:
    runs, new = units.plural(len(gate.evidence), "run"), units.plural(gate.runs_each, "new run")
    yield (
        f"Limits for {new}, from the noise of {runs}: in at most {units.percent(gate.false_alarms)} of comparisons "
        f"without a change is any case called worse, {units.plural(len(gate.case), 'case')} together. A change of the "
        f"size under “finds” is called worse with a probability of {units.percent(gate.power)}."
    )
    began_s = gates.span_seconds([each.started for each in gate.evidence])
    if began_s is not None:
        yield (
            f"The runs began within {units.roughly(began_s)}: what varies more slowly is not in the limits. "
            "Take runs of several days where later runs are of another day."
        )
    if gate.runs_each == 1:
        earlier = [case.earlier for case in gate.case]
        two = [gates.ratio(each.finds(2, gate.level, gate.power)) for each in earlier]
        span = f"{_change(min(two))} to {_change(max(two))}" if len(two) > 1 else _change(two[0])
        yield f"Two new runs, both above the limit, would find {span}: --runs-each 2."
    if gate.accepted:
        yield f"Accepted differences between the runs: {'; '.join(gate.accepted)}."


def _change(found: float) -> str:
    return units.percent(found - 1) if found < 10 else f"× {phrases.factor(found)}"
