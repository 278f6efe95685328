"""From launches to estimates: the one place where analysis meets `suite.statistics`."""

import math
import warnings
from collections.abc import Mapping, Sequence
from typing import TypeAlias

import numpy as np

from suite.analysis.types import Estimate
from suite.statistics.arrays import Floats
from suite.statistics.errors import InsufficientData
from suite.statistics.levels import launch_levels
from suite.statistics.ratios import level_interval, ratio_interval
from suite.statistics.steady import Course, SteadyState, steady_state

LaunchLevels: TypeAlias = Mapping[int, float]
"""Generation to the typical value of one arm's launch there."""

Windows: TypeAlias = Mapping[str, Mapping[tuple[int, int], float]]
"""Arm to (generation, round) to the value of that window, positive; windows left out are not there."""


def level(values: Sequence[float]) -> Estimate | None:
    """Estimate a level from one value a launch; without an interval where launches are too few for one.

    Parameters
    ----------
    values
        Positive, one a launch.
    """
    if not values or min(values) <= 0:
        return None
    logs = np.log(np.asarray(values, dtype=np.float64))
    try:
        found = level_interval(logs)
    except InsufficientData:
        return Estimate(math.exp(float(logs.mean())))
    return Estimate(found.level, found.low, found.high)


def ratio(numerator: LaunchLevels, denominator: LaunchLevels, *, sequential: bool) -> Estimate | None:
    """Estimate a ratio paired by generation; None where the two share none."""
    common = sorted(numerator.keys() & denominator.keys())
    if not common:
        return None
    above = np.log([numerator[index] for index in common])
    below = np.log([denominator[index] for index in common])
    try:
        found = ratio_interval(above, below, sequential=sequential)
    except InsufficientData:
        return Estimate(math.exp(float((above - below).mean())))
    return Estimate(found.ratio, found.low, found.high)


def levels(windows: Windows) -> dict[str, dict[int, float]]:
    """Reduce every launch to one value, the drift that all arms of a round share removed.

    Returns
    -------
    dict
        Arm to generation to the launch's level.
    """
    tensor, generations, _ = _tensor(windows)
    found = launch_levels(tensor)
    return {
        arm: {
            generation: math.exp(found[row, number])
            for row, generation in enumerate(generations)
            if not np.isnan(found[row, number])
        }
        for number, arm in enumerate(windows)
    }


def settling(windows: Windows) -> dict[str, dict[int, SteadyState]]:
    """Judge of every launch whether and when it settled, on its windows with the rounds' common drift removed.

    A machine that slows down for a minute slows all arms of a round alike; only what an arm does apart from the others
    is its own warming up. Launches with too few windows to tell are not there.

    Returns
    -------
    dict
        Arm to generation to the judgement; its indices count the launch's windows in the order of rounds.
    """
    tensor, generations, _ = _tensor(windows)
    if not tensor.size:
        return {arm: {} for arm in windows}
    with warnings.catch_warnings():
        # A round in which no window counts: its NaN is the answer.
        warnings.filterwarnings("ignore", message="All-NaN slice encountered", category=RuntimeWarning)
        drift = np.nanmedian(tensor - np.nanmedian(tensor, axis=1, keepdims=True), axis=2, keepdims=True)
    own = np.exp(tensor - drift)
    found: dict[str, dict[int, SteadyState]] = {arm: {} for arm in windows}
    for number, arm in enumerate(windows):
        for row, generation in enumerate(generations):
            values = own[row, :, number]
            values = values[~np.isnan(values)]
            if not values.size:
                continue
            state = steady_state(values)
            if state.course is not Course.TOO_FEW:
                found[arm][generation] = state
    return found


def _tensor(windows: Windows) -> tuple[Floats, list[int], list[int]]:
    """Lay out log values as (generations, rounds, arms), NaN where there is no window."""
    generations = sorted({place[0] for values in windows.values() for place in values})
    rounds = sorted({place[1] for values in windows.values() for place in values})
    rows = {index: row for row, index in enumerate(generations)}
    columns = {index: column for column, index in enumerate(rounds)}
    tensor = np.full((len(generations), len(rounds), len(windows)), np.nan)
    for number, values in enumerate(windows.values()):
        for (generation, round_), value in values.items():
            tensor[rows[generation], columns[round_], number] = math.log(value)
    return tensor, generations, rounds


def matrix(arms: Mapping[str, LaunchLevels]) -> Floats:
    """Lay out log levels as (generations, arms), NaN where an arm has no launch."""
    generations = sorted({index for values in arms.values() for index in values})
    found = np.full((len(generations), len(arms)), np.nan)
    for column, values in enumerate(arms.values()):
        for row, generation in enumerate(generations):
            if generation in values:
                found[row, column] = math.log(values[generation])
    return found
