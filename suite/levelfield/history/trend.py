"""The trend of one result: its runs in order of time, where its level changed, and whether it creeps.

The rule: the logarithms of the estimates are cut into levels by optimal segmentation (`statistics.segments`),
each level more costing three times the variance of the noise between neighbouring runs times the logarithm of their
number. A level of a single run is an outlier, unless that run is the newest; neighbouring levels that differ by less
than the margin are one; below `FEWEST_RUNS` runs no change is called.
Where a straight line describes the runs better than the levels, they drift, and no single run is to blame.
"""

import math
from collections.abc import Sequence

import msgspec
import numpy as np
import scipy

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


def trend(series: Series, *, margin: float) -> Trend:
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
