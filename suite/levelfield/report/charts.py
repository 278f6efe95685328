"""Charts on one value axis: positions in percent of the width, which the templates draw as SVG."""

from collections.abc import Callable, Iterable
from typing import TypeAlias

import msgspec

from levelfield.analysis.types import ArmRow, Canary, ColdBlock, Estimate, MemoryBlock, RankedRow, TimedBlock
from levelfield.report import axes, units
from levelfield.report.axes import Axis, Tick


class Part(msgspec.Struct, frozen=True):
    """One segment of a bar."""

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
        """Whether any arm has an interval."""
        return any(mark.low is not None for mark in self.marks)

    @property
    def broken(self) -> bool:
        """Whether any bar is longer than the axis."""
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


def timed(block: TimedBlock) -> Chart | None:
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
        axis = axes.make(values, scale.factor, f"{scale.unit} {block.case.rate_unit}".strip(), "higher is better")
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


def interval_chart(results: Iterable[Result], axis: Axis, write: Callable[[float], str]) -> Chart:
    """Draw estimates with their intervals and launches, arm by arm.

    `write`: writes a value with its unit.
    """

    def mark(row: RankedRow, estimate: Estimate | None, launches: tuple[float, ...]) -> Mark:
        if estimate is None:
            return Mark(row, row.standing)
        low, high = _bounds(axis, estimate.low, estimate.high)
        return Mark(row, write(estimate.value), axis.at(estimate.value), low, high, tuple(map(axis.at, launches)))

    return Chart(axis, tuple(mark(*result) for result in results))


def _bounds(axis: Axis, *bounds: float | None) -> list[float | None]:
    return [None if bound is None else axis.at(bound) for bound in bounds]


def _rate(items_per_second: float) -> str:
    return f"{units.rate(items_per_second)}/s"


PHASES = ("start", "import", "load and compile", "first call")


def cold(block: ColdBlock) -> Chart | None:
    """Stack the phases of a cold start, arm by arm; None where no arm has them."""
    totals = [row.total_ns.value for row in block.rows if row.total_ns is not None]
    if not totals:
        return None
    scale = units.scale_ns(max(totals))
    axis = axes.make([0.0, *axes.unbroken(totals)], scale.factor, scale.unit, "lower is better", zero=True)
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
    axis = axes.make([0.0, *axes.unbroken(most)], scale.factor, scale.unit, "lower is better", zero=True)
    bars = []
    for row in block.rows:
        if row.peak_bytes is not None:
            peak = Part(phase="peak", start=0.0, width=axis.at(row.peak_bytes), value=units.size(row.peak_bytes))
            low, high = _bounds(axis, row.least_bytes, row.most_bytes)
            cut = (row.most_bytes or 0.0) > axis.high
            low, high = (None, None) if cut else (low, high)
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
