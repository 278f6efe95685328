"""Value axes: range, scale and ticks, and where an axis of differences ends; positions are percents of the width."""

import math
import statistics
from collections.abc import Sequence

import msgspec
import numpy as np

from levelfield.report import units

LOG_FROM = 3.0
"""Ratio of largest to smallest from which an axis is logarithmic."""

BROKEN_FROM = 3.0
"""Ratio of a bar to the median bar from which it is cut."""


class Tick(msgspec.Struct, frozen=True):
    label: str
    at: float


class Axis(msgspec.Struct, frozen=True):
    """A value axis; positions are percents from its left end."""

    low: float
    high: float
    factor: float
    """How many of the base unit the axis's unit holds."""
    log: bool
    ticks: tuple[Tick, ...]
    label: str
    better: str
    """`lower is better` or `higher is better`."""

    def at(self, value: float) -> float:
        """Return the position of a value, kept within the axis."""
        if self.log:
            share = math.log(value / self.low) / math.log(self.high / self.low)
        else:
            share = (value - self.low) / (self.high - self.low)
        return round(100 * min(max(share, 0.0), 1.0), 2)


def make(values: Sequence[float], factor: float, label: str, better: str, *, zero: bool = False) -> Axis:
    """Choose range, scale and ticks so that every value lies inside, with a small margin.

    `values`: what must fit, in the base unit. `factor`: how many of the base unit the axis's unit holds. `zero`:
    whether the axis begins at zero (bars must). `label`: title of the axis, with its unit.
    """
    low, high = min(values), max(values)
    log = not zero and low > 0 and high / low > LOG_FROM
    if zero:
        low, high = 0.0, (high or 1.0) * 1.03
    elif log:
        air = (high / low) ** 0.05
        low, high = low / air, high * air
    else:
        air = max((high - low) * 0.06, high * 0.01)
        low, high = max(low - air, 0.0), high + air
    positions = _log_ticks(low / factor, high / factor) if log else _linear_ticks(low / factor, high / factor)
    bare = Axis(low=low, high=high, factor=factor, log=log, ticks=(), label=label, better=better)
    ticks = tuple(Tick(label=_tick_label(value), at=bare.at(value * factor)) for value in positions)
    return msgspec.structs.replace(bare, ticks=ticks)


def unbroken(lengths: Sequence[float]) -> list[float]:
    """Return the lengths of bars that an axis has room for; a bar that is far longer than most of them is cut.

    `lengths`: of the bars, in any unit; at least one.
    """
    longest = BROKEN_FROM * statistics.median(lengths)
    return [each for each in lengths if each <= longest]


def _linear_ticks(low: float, high: float, count: int = 5) -> list[float]:
    raw = (high - low) / count
    power = 10.0 ** math.floor(math.log10(raw))
    step = next(power * nice for nice in (1, 2, 2.5, 5, 10) if power * nice >= raw)
    first = math.ceil(low / step - 1e-9)
    return [index * step for index in range(first, math.floor(high / step + 1e-9) + 1)]


def _log_ticks(low: float, high: float) -> list[float]:
    decades = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    for nice in ((1, 2, 5), (1, 3), (1,)):
        ticks = [digit * 10.0**decade for decade in decades for digit in nice if low <= digit * 10.0**decade <= high]
        if len(ticks) <= 7:
            return ticks
    return ticks[:: math.ceil(len(ticks) / 7)]


def _tick_label(value: float) -> str:
    return "0" if value == 0 else f"{value:,.10g}".replace(",", units.GROUP_SPACE)


ENDS = (0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 4.0, 9.0, 19.0, 49.0)
"""Relative differences at which an axis may end: 5 % to 50 times as much."""
INSIDE = 0.75
"""Share of the values that must not be cut."""
_NEAR = 1.5
"""Where the farthest value is no farther than so many times the end, the axis holds all values."""


def reach(differences: Sequence[float]) -> float:
    """Return the relative difference at which an axis ends.

    `differences`: sizes of relative differences: 0.12 for 12 %. Those that are not above zero do not count. Returns one
    of `ENDS` that at least `INSIDE` of the values stay below; or the farthest value, where that is near.
    """
    found = [each for each in differences if each > 0]
    if not found:
        return ENDS[0]
    wanted = float(np.quantile(found, INSIDE))
    end = next((each for each in ENDS if each >= wanted), ENDS[-1])
    farthest = max(found)
    return farthest if end < farthest <= _NEAR * end else end
