"""Races of `bench` among the arms of a stream: all are the same, but for the factors given, so the truth is known."""

import math
from collections.abc import Iterator, Sequence

import msgspec
import numpy as np

from studies.rigor.table import Table
from suite.analysis.race import LEAD_PRECISION
from suite.statistics import racing, ranking
from suite.statistics.arrays import Floats
from suite.statistics.counting import count_windows
from suite.statistics.ending import EndedBy
from suite.statistics.levels import levels_of_windows
from suite.statistics.student import fewest_launches

MOST = 20
"""Generations of a race that has not ended by then."""


class RaceResult(msgspec.Struct, frozen=True):
    """How one race ended."""

    generations: int
    left: tuple[int, ...]
    """Places of the arms that left, in the order of the factors."""
    wrong: bool
    """Whether an arm is called faster than one that is as fast or faster."""


def races(table: Table, factors: Sequence[float]) -> Iterator[RaceResult]:
    """Run races that share no window, one after the other, among neighbouring arms of a stream.

    Parameters
    ----------
    table
        The stream.
    factors
        By which the recorded times of each arm of a race are multiplied; their number is that of its arms.
    """
    for first in range(0, table.arms - len(factors) + 1, len(factors)):
        begin = 0
        while begin + fewest_launches(EndedBy.RACE) <= table.generations:
            found = _race(table, first, slice(begin, min(begin + MOST, table.generations)), np.log(factors))
            yield found
            begin += found.generations


def _race(table: Table, first: int, generations: slice, factors: Floats) -> RaceResult:
    arms = factors.size
    windows = np.log(table.median_ns[generations, :, first : first + arms]) + factors
    lanes = slice(first // 2, (first + arms + 1) // 2)
    disturbed = [[bool(each.any()) for each in rounds] for rounds in table.disturbed[generations, :, lanes]]
    canary = np.log(table.canary_ns[generations]) if table.canary_ns is not None else None
    left: list[int] = []
    precise = 0
    for count in range(fewest_launches(EndedBy.RACE), windows.shape[0] + 1):
        counting = count_windows(windows[:count], disturbed[:count], canary=None if canary is None else canary[:count])
        levels = levels_of_windows(np.where(counting.windows, windows[:count], np.nan))
        undisturbed = [not all(each) for each in disturbed[:count]]
        left += racing.leaving(levels[undisturbed], set(range(arms)) - set(left))
        windows[count:, :, left] = np.nan
        places = ranking.rank(levels[counting.rounds.any(axis=1)], ended=EndedBy.RACE, left=left)
        widths = [
            math.log(each.high / each.ratio) if each.high and each.ratio else math.inf
            for each in places
            if each.arm not in left
        ]
        precise = precise + 1 if max(widths) <= LEAD_PRECISION else 0
        if precise > 1 or len(left) == arms - 1:
            break
    wrong = any(factors[fast] >= factors[place.arm] for place in places for fast in place.behind)
    return RaceResult(count, tuple(left), wrong)
