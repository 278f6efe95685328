"""From launches to estimates: ratios and levels of arms, with intervals from `statistics`, and what could end a run."""

import math
from collections.abc import Mapping, Sequence
from typing import TypeAlias

import numpy as np

from levelfield.analysis.types import Estimate
from levelfield.record.schema import Case, Settings
from levelfield.statistics.arrays import Floats, InsufficientData
from levelfield.statistics.ratios import level_interval, ratio_interval
from levelfield.statistics.student import EndedBy

LaunchLevels: TypeAlias = Mapping[int, float]
"""Generation to the typical value of one arm's launch there."""
Levels: TypeAlias = dict[str, dict[int, float]]
"""Arm to its launch levels: nanoseconds, or bytes of peak memory."""


def level(values: Sequence[float]) -> Estimate | None:
    """Estimate a level from one value a launch; without an interval where launches are too few for one."""
    if not values or min(values) <= 0:
        return None
    logs = np.log(np.asarray(values, dtype=np.float64))
    try:
        found = level_interval(logs)
    except InsufficientData:
        return Estimate(math.exp(float(logs.mean())))
    return Estimate(found.level, found.low, found.high)


def ratio(numerator: LaunchLevels, denominator: LaunchLevels, *, ended: EndedBy) -> Estimate | None:
    """Estimate a ratio paired by generation."""
    common = sorted(numerator.keys() & denominator.keys())
    if not common:
        return None
    above, below = matrix({"numerator": numerator, "denominator": denominator}, common).T
    try:
        found = ratio_interval(above, below, ended=ended)
    except InsufficientData:
        return Estimate(math.exp(float((above - below).mean())))
    return Estimate(found.ratio, found.low, found.high)


def matrix(arms: Mapping[str, LaunchLevels], generations: Sequence[int] | None = None) -> Floats:
    """Arrange log levels as (generations, arms), NaN where an arm has no launch."""
    if generations is None:
        generations = sorted({index for values in arms.values() for index in values})
    found = np.full((len(generations), len(arms)), np.nan)
    for column, values in enumerate(arms.values()):
        for row, generation in enumerate(generations):
            if generation in values:
                found[row, column] = math.log(values[generation])
    return found


def ended_by(settings: Settings, case: Case) -> EndedBy:
    """Return what was allowed to decide how many launches a case has.

    Neither a budget nor the clock depends on results, and neither counts. Earlier versions let arms leave that were
    surely behind (`races`) until the lead of the others was precise: recomputed as ended by precision, their intervals
    miss in 4.4 to 5.2 % where 5 % is stated.
    """
    if settings.precision_target is not None or (settings.races and case.timed):
        return EndedBy.PRECISION
    return EndedBy.VERDICT if settings.ends_on_verdict and case.timed else EndedBy.PLAN
