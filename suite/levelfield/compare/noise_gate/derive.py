"""From runs without a change to the limits of later runs."""

import fnmatch
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime

import msgspec
import numpy as np

from levelfield.analysis.status import SMOKE
from levelfield.compare import answers, changes, phrases
from levelfield.compare.answers import CaseResults
from levelfield.compare.baselines import Baseline
from levelfield.compare.noise_gate import notes
from levelfield.compare.noise_gate.file import FORMAT, Evidence, GateCase, NoiseGate, Without, figures, unit_of
from levelfield.compare.reduction import Answer, Reduced
from levelfield.errors import LevelfieldError
from levelfield.report import units
from levelfield.statistics import prediction
from levelfield.version import __version__

LEAST_DAYS = notes.FEW_DAYS + 1
"""Fewest days that the runs of a gate are of. Where a machine differs from day to day, the spread of one day's runs is
too small for those of another: with twelve runs, and days that scatter twice as much as runs within a day, 11 % of new
runs without a change are called worse in place of 1 % (two days: 3.7 %, three: 1.8 %, five: 0.8 %)."""
MOST_NAMED = 5
"""Differences that a refusal names."""
_DIGESTS = ("inputs", "weights", "onnx", "images", "target")


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


def derive(baseline: Baseline, runs: Sequence[Reduced], demands: Demands) -> NoiseGate:
    """Derive a gate.

    Raises LevelfieldError: too few runs or too many, smoke runs, runs of too few days, on unlike hardware or under
    unlike conditions, or no case that could have a limit.
    """
    _check_number(baseline, runs)
    accepted = _check_alike(baseline, runs, demands.accept)
    if not demands.same_day:
        _check_days(baseline, runs)
    pairs = {
        (arm, case): results
        for arm, cases in answers.by_arm(runs).items()
        for case, results in cases.items()
        if not results.unsupported
    }
    reasons = {key: _why_none(results) for key, results in pairs.items()}
    judged = [key for key, reason in reasons.items() if not reason]
    if not judged:
        raise LevelfieldError(
            f"No case of the baseline {baseline.name} can have a limit: {next(iter(reasons.values()), 'none ran')}.",
            fix="Set the baseline to runs that measured the same cases without failures.",
        )
    level = demands.false_alarms / len(judged)
    return NoiseGate(
        format=FORMAT,
        made=datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        version=__version__,
        baseline=baseline.name,
        false_alarms=demands.false_alarms,
        power=demands.power,
        runs_each=demands.runs_each,
        launcher=runs[0].launcher,
        hardware=runs[0].hardware,
        settings=settings_of(runs[0]),
        evidence=tuple(
            Evidence(file=pointer.file, sha256=pointer.sha256, id=run.facts.id, started=run.moment)
            for pointer, run in zip(baseline.runs, runs, strict=True)
        ),
        case=tuple(_case(key, pairs[key], runs, level, demands) for key in judged),
        without=tuple(Without(id="/".join(key), reason=reason) for key, reason in reasons.items() if reason),
        accepted=accepted,
    )


def settings_of(run: Reduced) -> dict[str, str]:
    """Return the settings under which the spread between runs is what it is."""
    return dict(run.environment.get("settings", {}))


def _check_number(baseline: Baseline, runs: Sequence[Reduced]) -> None:
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
    days = notes.days([run.moment for run in runs])
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
        found = [each for run in runs[1:] for each in changes.hardware_differences(runs[0].hardware, run.hardware)]
        what = f": {phrases.clean('; '.join(dict.fromkeys(found)))}" if found else ", or on hardware that is not known"
        raise LevelfieldError(
            f"The runs of the baseline {baseline.name} were made on unlike hardware{what}.",
            fix="Set the baseline to runs of one machine.",
        )
    found = list(dict.fromkeys(_differences(runs)))
    refused = [each for each in found if not any(fnmatch.fnmatchcase(each, glob) for glob in accept)]
    if refused:
        more = f"; and {len(refused) - MOST_NAMED} more" if len(refused) > MOST_NAMED else ""
        raise LevelfieldError(
            f"The runs of the baseline {baseline.name} differ, so that their spread is not noise alone: "
            f"{'; '.join(refused[:MOST_NAMED])}{more}.",
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
    """Say why a case has no limit; empty where it has one."""
    costs = results.costs
    if len(costs) < results.runs:
        why = next((answer.reason for answer in results.answers if answer.reason and answer.cost is None), "")
        return phrases.clean(f"measured in {len(costs)} of {units.plural(results.runs, 'run')}. {why}").rstrip(". ")
    if answers.different_digests(results.answers, results.answers):
        return "not the same question in all runs"
    if prediction.from_runs(np.log(costs)).spread == 0:
        return "all runs gave the same figure, so that its noise is not known"
    return ""


def _case(
    key: tuple[str, str], results: CaseResults, runs: Sequence[Reduced], level: float, demands: Demands
) -> GateCase:
    arm = next(run.arms[key[0]] for run in runs if key[0] in run.arms)
    question = next(run.cases[key[1]] for run in runs if key[1] in run.cases)
    costs = tuple(results.costs)
    given = {name: _union(results.answers, name) for name in _DIGESTS}
    found = figures(costs, demands.runs_each, level, demands.power)
    return msgspec.convert(
        {
            "id": "/".join(key),
            "metric": question.scenario,
            "unit": unit_of(question),
            **found,
            "costs": costs,
            "arm": arm,
            "question": question,
            **given,
        },
        GateCase,
    )


def _union(found: Sequence[Answer], name: str) -> tuple[str, ...]:
    return tuple(sorted(frozenset[str]().union(*(getattr(answer, name) for answer in found))))
