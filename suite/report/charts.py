"""Where things lie on a chart, in percent of its width. Templates draw; nothing here knows SVG."""

from collections.abc import Callable, Iterable
from typing import TypeAlias

import msgspec

from suite.analysis.types import ArmRow, Canary, ColdBlock, Estimate, MemoryBlock, RankedRow, TimedBlock
from suite.report import axes, names, units
from suite.report.axes import Axis, Tick


class Mark(msgspec.Struct, frozen=True):
    """One arm's point, interval and launches; an arm without numbers has a row, and no point."""

    name: str
    backend: str
    colour: str
    standing: str
    at: float | None
    low: float | None
    high: float | None
    dots: tuple[float, ...]
    value: str


class IntervalChart(msgspec.Struct, frozen=True):
    axis: Axis
    marks: tuple[Mark, ...]
    intervals: bool
    """Whether any arm has one."""
    summary: str
    """The chart in words, for readers who cannot see it."""


class Part(msgspec.Struct, frozen=True):
    """One segment of a bar."""

    phase: str
    start: float
    width: float
    value: str


class Bar(msgspec.Struct, frozen=True):
    name: str
    backend: str
    colour: str
    standing: str
    parts: tuple[Part, ...]
    low: float | None
    high: float | None
    value: str


class BarChart(msgspec.Struct, frozen=True):
    axis: Axis
    bars: tuple[Bar, ...]
    phases: bool
    """Whether segments are coloured by phase; else by backend."""
    summary: str


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


def timed(block: TimedBlock) -> IntervalChart | None:
    """Return a chart of every arm that has numbers, on one axis; None where none has."""
    throughput = block.case.per_item
    results = [
        (row, row.compared(block.case), row.launch_items_per_second if throughput else row.launch_medians_ns)
        for row in block.rows
    ]
    values = plotted_values(results)
    if not values:
        return None
    if throughput:
        scale = units.scale_count(max(values))
        axis = axes.make(values, scale.factor, f"{scale.unit} items/s".strip(), "higher is better")
    else:
        scale = units.scale_ns(min(values))
        axis = axes.make(values, scale.factor, f"{scale.unit} a call", "lower is better")
    results.sort(key=lambda result: result[1] is None)
    return interval_chart(results, axis, _rate if throughput else units.time)


Result: TypeAlias = tuple[RankedRow, Estimate | None, tuple[float, ...]]
"""An arm's row, its estimate, and the values of its launches."""


def plotted_values(results: Iterable[Result]) -> list[float]:
    """Return all that a chart of intervals must have room for; arms without an estimate are left out."""
    return [
        value
        for _, estimate, launches in results
        if estimate is not None
        for value in (estimate.value, estimate.low, estimate.high, *launches)
        if value is not None
    ]


def interval_chart(results: Iterable[Result], axis: Axis, write: Callable[[float], str]) -> IntervalChart:
    """Draw estimates with their intervals and launches, arm by arm.

    Parameters
    ----------
    results
        In the order of the chart; an arm without an estimate has its standing for a value.
    axis
        With room for `plotted_values`.
    write
        Writes a value with its unit.
    """
    marks = tuple(
        Mark(
            name=row.arm,
            backend=row.backend,
            colour=names.colour(row.backend),
            standing=row.standing,
            at=None if estimate is None else axis.at(estimate.value),
            low=None if estimate is None or estimate.low is None else axis.at(estimate.low),
            high=None if estimate is None or estimate.high is None else axis.at(estimate.high),
            dots=() if estimate is None else tuple(axis.at(value) for value in launches),
            value=row.standing if estimate is None else write(estimate.value),
        )
        for row, estimate, launches in results
    )
    return IntervalChart(
        axis=axis,
        marks=marks,
        intervals=any(mark.low is not None for mark in marks),
        summary="; ".join(map(_in_words, marks)),
    )


def _in_words(mark: Mark) -> str:
    return f"{mark.name} {mark.value}{' (not equal to the reference)' if mark.standing == 'unequal' else ''}"


def _rate(items_per_second: float) -> str:
    return f"{units.rate(items_per_second)}/s"


PHASES = ("start", "import", "load", "first call")


def cold(block: ColdBlock) -> BarChart | None:
    """Stack the phases of a cold start, arm by arm; None where no arm has them."""
    totals = [row.total_ns.value for row in block.rows if row.total_ns is not None]
    if not totals:
        return None
    scale = units.scale_ns(max(totals))
    axis = axes.make([0.0, *totals], scale.factor, scale.unit, "lower is better", zero=True)
    bars = []
    for row in block.rows:
        if row.total_ns is None:
            continue
        start = 0.0
        parts = []
        for phase, value in zip(PHASES, (row.start_ns, row.import_ns, row.load_ns, row.first_call_ns), strict=True):
            width = axis.at(value or 0.0)
            parts.append(Part(phase=phase, start=round(start, 2), width=width, value=units.time(value)))
            start += width
        bars.append(_bar(row, units.time(row.total_ns.value), *parts))
    return _bar_chart(axis, block, bars, phases=True)


def memory(block: MemoryBlock) -> BarChart | None:
    """Draw peak memory, arm by arm, with the range over launches; None where no arm has one."""
    most = [row.most_bytes or 0.0 for row in block.rows if row.peak_bytes is not None]
    if not most:
        return None
    scale = units.scale_bytes(max(row.peak_bytes or 0.0 for row in block.rows))
    axis = axes.make([0.0, *most], scale.factor, scale.unit, "lower is better", zero=True)
    bars = []
    for row in block.rows:
        if row.peak_bytes is not None:
            peak = Part(phase="peak", start=0.0, width=axis.at(row.peak_bytes), value=units.size(row.peak_bytes))
            low, high = (None if bound is None else axis.at(bound) for bound in (row.least_bytes, row.most_bytes))
            bars.append(_bar(row, peak.value, peak, low=low, high=high))
    return _bar_chart(axis, block, bars, phases=False)


def _bar(row: ArmRow, value: str, *parts: Part, low: float | None = None, high: float | None = None) -> Bar:
    return Bar(
        name=row.arm,
        backend=row.backend,
        colour=names.colour(row.backend),
        standing=row.standing,
        parts=parts,
        low=low,
        high=high,
        value=value,
    )


def _bar_chart(axis: Axis, block: ColdBlock | MemoryBlock, bars: list[Bar], *, phases: bool) -> BarChart:
    """Add an empty bar for every arm without numbers: what is not there should be seen."""
    drawn = {bar.name for bar in bars}
    bars += [_bar(row, row.standing) for row in block.rows if row.arm not in drawn]
    summary = "; ".join(f"{bar.name} {bar.value}" for bar in bars)
    return BarChart(axis=axis, bars=tuple(bars), phases=phases, summary=summary)


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
