"""Value axes, and charts on one of them: positions in percent of the width, which the templates draw as SVG."""

import math
import statistics
from collections.abc import Callable, Iterable, Sequence
from typing import TypeAlias

import msgspec
import numpy as np

from levelfield.analysis.types import ArmRow, Canary, ColdBlock, Estimate, MemoryBlock, RankedBlock, RankedRow, compared
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


def make_axis(values: Sequence[float], factor: float, label: str, better: str, *, zero: bool = False) -> Axis:
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
    """Return the lengths of bars that an axis has room for; one that is far longer than most of them is cut."""
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
    """Return the relative difference at which an axis ends, which most of the values stay below."""
    found = [each for each in differences if each > 0]
    if not found:
        return ENDS[0]
    wanted = float(np.quantile(found, INSIDE))
    end = next((each for each in ENDS if each >= wanted), ENDS[-1])
    farthest = max(found)
    return farthest if end < farthest <= _NEAR * end else end


class Part(msgspec.Struct, frozen=True):
    phase: str
    start: float
    width: float
    value: str


class Mark(msgspec.Struct, frozen=True):
    """One arm in a chart: a point or the segments of a bar, an interval and launches, as far as it has them."""

    row: ArmRow
    value: str
    """In words: the estimate with its unit, or the standing of an arm without numbers."""
    at: float | None = None
    low: float | None = None
    high: float | None = None
    dots: tuple[float, ...] = ()
    parts: tuple[Part, ...] = ()
    cut: bool = False
    """Whether a bar is longer than the axis."""


class Chart(msgspec.Struct, frozen=True):
    """Arms one below the other on one value axis, as points with intervals or as bars."""

    axis: Axis
    marks: tuple[Mark, ...]
    phases: bool = False
    """Whether segments are coloured by phase; else by backend."""

    @property
    def intervals(self) -> bool:
        return any(mark.low is not None for mark in self.marks)

    @property
    def broken(self) -> bool:
        return any(mark.cut for mark in self.marks)

    @property
    def summary(self) -> str:
        """The chart in words, for readers who cannot see it."""
        return "; ".join(
            f"{mark.row.arm} {mark.value}{' (not equal to the reference)' if mark.row.standing == 'unequal' else ''}"
            for mark in self.marks
        )


class Point(msgspec.Struct, frozen=True):
    x: float
    y: float
    label: str


class Course(msgspec.Struct, frozen=True):
    """A value over time: points with positions in percent, y from the top."""

    points: tuple[Point, ...]
    ticks: tuple[Tick, ...]
    """On the vertical axis."""
    summary: str


def ranked(block: RankedBlock, *, rate: str = "", time: str = "") -> Chart | None:
    """Return a chart of what the arms are compared by, arms without numbers last; None where none has any.

    `rate`, `time`: what is written behind each rate, and behind the unit of times.
    """
    results = [(row, *compared(row, block.case)) for row in block.rows]
    results.sort(key=lambda result: result[1] is None)
    if not (values := _plotted(results)):
        return None
    if block.case.per_item:
        scale = units.scale_count(max(values))
        axis = make_axis(values, scale.factor, f"{scale.unit} {block.case.rate_unit}".strip(), "higher is better")
        return _interval_chart(results, axis, lambda value: f"{units.rate(value)}{rate}")
    scale = units.scale_ns(min(values))
    axis = make_axis(values, scale.factor, f"{scale.unit}{time}", "lower is better")
    return _interval_chart(results, axis, units.time)


Result: TypeAlias = tuple[RankedRow, Estimate | None, tuple[float, ...]]
"""An arm's row, its estimate, and the values of its launches."""


def _plotted(results: Iterable[Result]) -> list[float]:
    return [
        value
        for _, estimate, launches in results
        if estimate is not None
        for value in (estimate.value, estimate.low, estimate.high, *launches)
        if value is not None
    ]


def _interval_chart(results: Iterable[Result], axis: Axis, write: Callable[[float], str]) -> Chart:
    """Draw estimates with their intervals and launches, arm by arm."""

    def mark(row: RankedRow, estimate: Estimate | None, launches: tuple[float, ...]) -> Mark:
        if estimate is None:
            return Mark(row, row.standing)
        at = estimate.each(axis.at)
        return Mark(row, write(estimate.value), at.value, at.low, at.high, tuple(map(axis.at, launches)))

    return Chart(axis, tuple(mark(*result) for result in results))


PHASES = ("start", "import", "load and compile", "first call")


def cold(block: ColdBlock) -> Chart | None:
    """Stack the phases of a cold start, arm by arm; None where no arm has them."""
    totals = [row.total_ns.value for row in block.rows if row.total_ns is not None]
    if not totals:
        return None
    scale = units.scale_ns(max(totals))
    axis = make_axis([0.0, *unbroken(totals)], scale.factor, scale.unit, "lower is better", zero=True)
    bars = []
    for row in block.rows:
        if row.total_ns is None:
            continue
        start = 0.0
        parts = []
        for phase, value in zip(PHASES, (row.start_ns, row.import_ns, row.load_ns, row.first_call_ns), strict=True):
            width = min(axis.at(value or 0.0), 100 - start)
            parts.append(Part(phase=phase, start=round(start, 2), width=width, value=units.time(value)))
            start += width
        cut = row.total_ns.value > axis.high
        bars.append(Mark(row, units.time(row.total_ns.value), parts=tuple(parts), cut=cut))
    return _bar_chart(axis, block, bars, phases=True)


def memory(block: MemoryBlock) -> Chart | None:
    """Draw peak memory, arm by arm, with the range over launches; None where no arm has one."""
    most = [row.most_bytes or 0.0 for row in block.rows if row.peak_bytes is not None]
    if not most:
        return None
    scale = units.scale_bytes(max(row.peak_bytes or 0.0 for row in block.rows))
    axis = make_axis([0.0, *unbroken(most)], scale.factor, scale.unit, "lower is better", zero=True)
    bars = []
    for row in block.rows:
        if row.peak_bytes is not None:
            at = Estimate(row.peak_bytes, row.least_bytes, row.most_bytes).each(axis.at)
            peak = Part(phase="peak", start=0.0, width=at.value, value=units.size(row.peak_bytes))
            cut = (row.most_bytes or 0.0) > axis.high
            low, high = (None, None) if cut else (at.low, at.high)
            bars.append(Mark(row, peak.value, low=low, high=high, parts=(peak,), cut=cut))
    return _bar_chart(axis, block, bars, phases=False)


def _bar_chart(axis: Axis, block: ColdBlock | MemoryBlock, bars: list[Mark], *, phases: bool) -> Chart:
    """Add an empty bar for every arm without numbers: what is missing must be visible."""
    drawn = {bar.row.arm for bar in bars}
    bars += [Mark(row, row.standing) for row in block.rows if row.arm not in drawn]
    return Chart(axis, tuple(bars), phases)


def canary(course: Canary) -> Course:
    """Return a chart of the canary's medians over the run, relative to their median."""
    ratios = [point.median_ns / course.median_ns for point in course.points]
    reach = max(0.05, *(abs(ratio - 1) for ratio in ratios)) * 1.15
    step = next((nice for nice in (0.02, 0.05, 0.1, 0.2, 0.5, 1.0) if 2 * nice > reach), reach / 2)
    last = max(1, len(ratios) - 1)
    return Course(
        points=tuple(
            Point(
                x=round(2 + 96 * index / last, 2),
                y=round(50 - 50 * (ratio - 1) / reach, 2),
                label=f"{point.block}, generation {point.generation + 1}: {units.time(point.median_ns)}",
            )
            for index, (point, ratio) in enumerate(zip(course.points, ratios, strict=True))
        ),
        ticks=tuple(
            Tick(label=units.percent(share, signed=True) if share else "median", at=round(50 - 50 * share / reach, 2))
            for share in (step, 0.0, -step)
            if abs(share) < reach
        ),
        summary=(
            f"{len(ratios)} points; slowest {units.percent(course.spread)} over fastest"
            + ("" if course.drift is None else f"; last third against first {units.percent(course.drift, signed=True)}")
        ),
    )
