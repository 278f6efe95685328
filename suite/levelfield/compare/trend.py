"""Trends over runs: the series of each result, where its level changed, whether it creeps, and what changed with it.

The rule: the logarithms of the estimates are cut into levels by optimal segmentation (`statistics.segments`),
each level more costing three times the variance of the noise between neighbouring runs times the logarithm of their
number. A level of a single run is an outlier, unless that run is the newest; neighbouring levels that differ by less
than the margin are one; below `FEWEST_RUNS` runs no change is called.
Where a straight line describes the runs better than the levels, they drift, and no single run is to blame.
"""

import fnmatch
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import TypeAlias

import msgspec
import numpy as np
import scipy

from levelfield.analysis.environment import UNKNOWN, concerns
from levelfield.analysis.summary import Result, Summary
from levelfield.errors import LevelfieldError
from levelfield.names import made_of, unknown
from levelfield.statistics.arrays import Floats
from levelfield.statistics.segments import change_points, is_straight

FEWEST_RUNS = 5
"""Runs below which the noise between them is not known well enough to call a change."""
MOST_RUNS = 500
"""Most runs that are analysed, newest first: the time of segmentation grows with their square."""


class Point(msgspec.Struct, frozen=True):
    """Estimate of the result in one run."""

    run: str
    started: str
    standing: str
    labels: str
    estimate: float | None
    low: float | None
    high: float | None


class Series(msgspec.Struct, frozen=True):
    """One result on one machine, with one launcher; runs in order of time."""

    result: str
    arm: str
    image: str
    metric: str
    unit: str
    machine: str
    machine_title: str
    launcher: str
    points: tuple[Point, ...]


class Change(msgspec.Struct, frozen=True):
    """From this run on, the level is another one."""

    at: int
    """Index of the first point of the new level."""
    before: int
    """Index of the last point with an estimate of the old level."""
    ratio: float
    """New level ÷ old level."""
    runs: int
    """Runs at the new level, until the next change."""


class Trend(msgspec.Struct, frozen=True):
    changes: tuple[Change, ...]
    drift: float | None
    """Change from the first run to the last, as a ratio, where a straight line describes the runs best."""
    not_analysed: str = ""
    """Why changes were not searched for; empty where they were."""


def find_trend(series: Series, *, margin: float) -> Trend:
    """Find where the level of a series changes."""
    indices = [index for index, point in enumerate(series.points) if point.estimate is not None][-MOST_RUNS:]
    if len(indices) < FEWEST_RUNS:
        counted = f"{len(indices)} {'run' if len(indices) == 1 else 'runs'} with a number"
        return Trend((), None, f"{counted}, and a change is called from {FEWEST_RUNS} on")
    values = np.log([point.estimate for point in series.points if point.estimate is not None][-MOST_RUNS:])
    starts = change_points(values)
    if len(starts) > 1 and is_straight(values, starts):
        slope, _ = scipy.stats.theilslopes(values, np.arange(values.size, dtype=np.float64))[:2]
        drift = math.exp(float(slope) * (values.size - 1))
        return Trend((), drift if abs(drift - 1) >= margin else None)
    starts = _merged(values, _without_outliers(values, starts), math.log1p(margin))
    ends = [*starts[1:], values.size]
    levels = [_level(values, start, end) for start, end in zip(starts, ends, strict=True)]
    return Trend(
        tuple(
            Change(
                at=indices[starts[number]],
                before=indices[starts[number] - 1],
                ratio=math.exp(levels[number] - levels[number - 1]),
                runs=ends[number] - starts[number],
            )
            for number in range(1, len(starts))
        ),
        None,
    )


def _level(values: Floats, start: int, end: int) -> float:
    return float(np.median(values[start:end]))  # an outlier within it moves no level


def _without_outliers(values: Floats, starts: Sequence[int]) -> list[int]:
    """Assign a single run between two levels to the nearer one."""
    kept = list(starts)
    number = 0
    while number < len(kept) - 1:
        if kept[number + 1] - kept[number] > 1:
            number += 1
            continue
        single = values[kept[number]]
        edges = [*kept, values.size]
        after = abs(_level(values, edges[number + 1], edges[number + 2]) - single)
        before = abs(_level(values, edges[number - 1], edges[number]) - single) if number else math.inf
        del kept[number + 1 if after <= before else number]
        number = max(0, number - 1)
    return kept


def _merged(values: Floats, starts: Sequence[int], margin: float) -> list[int]:
    """Join neighbouring levels that differ by less than the margin, the closest first."""
    kept = list(starts)
    while len(kept) > 1:
        edges = [*kept, values.size]
        levels = [_level(values, edges[number], edges[number + 1]) for number in range(len(kept))]
        steps = np.abs(np.diff(levels))
        least = int(steps.argmin())
        if steps[least] >= margin:
            break
        del kept[least + 1]
    return kept


Runs: TypeAlias = Mapping[str, Summary]
"""Runs by their ids, in order of time."""


def in_order(summaries: Iterable[Summary]) -> Runs:
    """Return runs in order of time."""
    return {one.id: one for one in sorted(summaries, key=lambda one: (one.started, one.id))}


def results(runs: Runs) -> list[str]:
    """Return every result id of the runs, in alphabetical order."""
    return sorted({result.id for run in runs.values() for result in run.results})


def matching(requested: str, known: Iterable[str]) -> list[str]:
    """Return the result ids that are meant: the exact one, those of a glob, or those that contain the text.

    Raises LevelfieldError: there is none; close ones are named.
    """
    names = list(known)
    if requested in names:
        return [requested]
    if re.search(r"[*?\[]", requested):
        found = [name for name in names if fnmatch.fnmatchcase(name, requested)]
    else:
        found = [name for name in names if requested in name]
    if found:
        return found
    if not names:
        raise LevelfieldError(
            "The history holds no runs.", fix="Measure some (`levelfield bench`), or name their folder with --reports."
        )
    raise unknown("result", requested, names)


def series(runs: Runs, names: Iterable[str], *, labelled: bool) -> list[Series]:
    """Return the series of these results, one for each machine and launcher they were measured with; newest last."""
    answers: dict[str, list[tuple[Summary, Result]]] = {name: [] for name in names}
    for run in runs.values():
        for result in {each.id: each for each in run.results}.values() if labelled or not run.labels else ():
            if result.id in answers:
                answers[result.id].append((run, result))
    found: dict[tuple[str, ...], list[tuple[Summary, Result]]] = {}
    for name, given in answers.items():
        for run, result in given:
            found.setdefault((name, run.machine, run.launcher, result.metric), []).append((run, result))
    return [_series(measured) for measured in found.values()]


def _series(measured: list[tuple[Summary, Result]]) -> Series:
    run, result = measured[-1]  # the newest run tells of the whole series: an arm may come to run in another image
    points = (
        Point(one.id, one.started, of.standing, ",".join(one.labels), of.estimate, of.low, of.high)
        for one, of in measured
    )
    return made_of(Series, result, run, result=result.id, points=tuple(points))


class Difference(msgspec.Struct, frozen=True):
    """One fact that is not what it was; None: the record lacks it."""

    group: str
    name: str
    before: str | None
    after: str | None


def environment_differences(runs: Runs, before: Point, after: Point, one: Series) -> list[Difference]:
    """Return what differs between the environments of two runs, as far as it can explain this series."""
    old, new = (_facts(runs[point.run], one) for point in (before, after))
    pairs = ((fact, old.get(fact), new.get(fact)) for fact in sorted(old.keys() | new.keys()))
    return [
        Difference(*fact, was, now)
        for fact, was, now in pairs
        if was != now and not (_is_unknown(was) and _is_unknown(now))
    ]


def _is_unknown(value: str | None) -> bool:
    """Return whether a fact is unknown, for whatever reason: it explains nothing."""
    return not value or value.startswith(UNKNOWN)


def _facts(run: Summary, one: Series) -> dict[tuple[str, str], str]:
    groups = {name: facts for name, facts in run.environment.items() if concerns(name, arm=one.arm, image=one.image)}
    return {(group, name): value for group, facts in groups.items() for name, value in facts.items()}


class ChangePoint(msgspec.Struct, frozen=True):
    """A run from which on the level is another one."""

    run: str
    before: str
    """Last run of the old level."""
    ratio: float
    """New level over old level."""
    runs: int
    """Runs at the new level, until the next change."""
    differences: tuple[Difference, ...]
    """What differs between the environments of the two runs, as far as it can explain the change."""


class SeriesTrend(msgspec.Struct, frozen=True):
    """One result on one machine over its runs."""

    series: Series
    trend: Trend
    changes: tuple[ChangePoint, ...]


class Trends(msgspec.Struct, frozen=True):
    """The trends of all results that match."""

    format: int
    margin: float
    """Relative difference below which two levels count as one."""
    results: tuple[SeriesTrend, ...]


def trends(runs: Runs, found: Sequence[Series], *, margin: float) -> Trends:
    """Return the trend of every series, and what changed with it."""
    return Trends(1, margin, tuple(_judged(runs, one, find_trend(one, margin=margin)) for one in found))


def _judged(runs: Runs, one: Series, judged: Trend) -> SeriesTrend:
    changes = tuple(
        ChangePoint(
            run=one.points[change.at].run,
            before=one.points[change.before].run,
            ratio=change.ratio,
            runs=change.runs,
            differences=tuple(environment_differences(runs, one.points[change.before], one.points[change.at], one)),
        )
        for change in judged.changes
    )
    return SeriesTrend(one, judged, changes)
