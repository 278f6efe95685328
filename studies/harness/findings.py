"""From the windows of a trial to findings: the interval of a contrast, compared with its limit.

The question is what the harness adds to a usual launch. Now and then a launch is of another kind (OpenVINO ran on one
core of two in one of sixteen, in either process); so the median over launches is compared with the limit, with its
distribution-free interval, and the record has the mean with its t interval too.
"""

import math
from collections.abc import Callable, Sequence

import numpy as np

from studies.harness.record import Cell, Contrast, Finding, Generation, Interval, Limit, Verdict
from suite.statistics.arrays import Floats
from suite.statistics.ending import EndedBy
from suite.statistics.errors import InsufficientData
from suite.statistics.levels import levels_of_windows
from suite.statistics.medians import median_interval
from suite.statistics.student import MIN_LAUNCHES, half_width, spread_of

CONFIDENCE = 0.95


def launch_levels(generations: Sequence[Generation], arms: Sequence[str]) -> Floats:
    """Return the log level of each launch: these trials warm up by a rule of their own, and leave no window out."""
    columns = {arm: index for index, arm in enumerate(arms)}
    logs = np.full((len(generations), max((len(each.rounds) for each in generations), default=0), len(arms)), np.nan)
    for g, generation in enumerate(generations):
        for r, one in enumerate(generation.rounds):
            for window in one.windows:
                logs[g, r, columns[window.arm]] = math.log(window.median_ns)
    return levels_of_windows(logs)


def find(contrast: Contrast, generations: Sequence[Generation], arms: Sequence[str]) -> Finding:
    """Estimate a contrast from all generations, and compare it with its limit.

    Notes
    -----
    The launch is the unit: differences are taken within a generation, and intervals are over generations.
    """
    first, second = _levels(contrast, generations, arms)
    return _finding(contrast, first, second, typical=_mean if contrast.one_process else _median)


def _levels(contrast: Contrast, generations: Sequence[Generation], arms: Sequence[str]) -> tuple[Floats, Floats]:
    """Return the log levels of a contrast's two arms by launch, from the rounds in which both took a window."""
    both = {contrast.first, contrast.second}
    kept = [
        Generation(tuple(one for one in each.rounds if both <= {window.arm for window in one.windows}))
        for each in generations
    ]
    present = {window.arm for each in kept for one in each.rounds for window in one.windows}
    names = [arm for arm in arms if arm in present]
    levels = launch_levels(kept, names)
    return levels[:, names.index(contrast.first)], levels[:, names.index(contrast.second)]


def _mean(values: Floats) -> Interval:
    """Return the mean with its t interval: within one process a launch of another kind is of that kind for both."""
    mean = float(values.mean())
    if values.size < MIN_LAUNCHES:
        return Interval(mean, None, None)
    half = half_width(spread_of(values), int(values.size), confidence=CONFIDENCE, ended=EndedBy.PLAN)
    return Interval(mean, mean - half, mean + half)


def pooled(contrast: Contrast, cells: Sequence[Cell]) -> Finding:
    """Judge what all backends of a model say together: the harness is the same around each of them.

    Notes
    -----
    The median over all launches of all backends, with its distribution-free interval, as for one backend.
    """
    levels = [_levels(contrast, cell.generations, cell.arms) for cell in cells]
    first, second = np.concatenate([one for one, _ in levels]), np.concatenate([other for _, other in levels])
    return _finding(contrast, first, second, typical=_median)


def _finding(
    contrast: Contrast,
    first: Floats,
    second: Floats,
    *,
    typical: Callable[..., Interval],
) -> Finding:
    ratio = typical(first - second).map(math.exp)
    difference = typical(np.exp(first) - np.exp(second))
    return Finding(
        contrast=contrast,
        launches=len(first),
        first_ns=float(np.exp(np.median(first))),
        second_ns=float(np.exp(np.median(second))),
        ratio=ratio,
        mean_ratio=_mean(first - second).map(math.exp),
        difference_ns=difference,
        verdict=_verdict(contrast.limit, ratio, difference),
    )


def _median(values: Floats) -> Interval:
    try:
        found = median_interval(values, confidence=CONFIDENCE)
    except InsufficientData:
        return Interval(float(np.median(values)), None, None)
    return Interval(found.value, found.low, found.high)


def _verdict(limit: Limit, ratio: Interval, difference: Interval) -> Verdict:
    """Decide by the interval: a harness that seems faster than a bare loop is wrong too."""
    if limit.share is not None:
        interval, equal, allowed = ratio, 1.0, limit.share
    elif limit.ns is not None:
        interval, equal, allowed = difference, 0.0, limit.ns
    else:
        return "no limit"
    if interval.low is None or interval.high is None:
        return "not shown"
    if equal - allowed <= interval.low and interval.high <= equal + allowed:
        return "within"
    return "outside" if interval.low > equal + allowed or interval.high < equal - allowed else "not shown"
