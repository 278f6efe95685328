"""Where things lie on a chart, in percent of its width. Templates draw; nothing here knows SVG."""

import msgspec

from suite.analysis.types import Canary, ColdBlock, ColdRow, Estimate, MemoryBlock, MemoryRow, Row, TimedBlock
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
    rows = [(row, estimate) for row in block.rows if (estimate := _plotted(row, throughput=throughput)) is not None]
    if not rows:
        return None
    dots = {row.arm: row.launch_items_per_second if throughput else row.launch_medians_ns for row, _ in rows}
    values = [
        value
        for row, estimate in rows
        for value in (estimate.value, estimate.low, estimate.high, *dots[row.arm])
        if value is not None
    ]
    if throughput:
        scale = units.scale_count(max(values))
        unit = f"{scale.unit} items/s".strip()
        axis = axes.make(values, scale.factor, unit, "higher is better")
    else:
        scale = units.scale_ns(min(values))
        axis = axes.make(values, scale.factor, f"{scale.unit} a call", "lower is better")
    write = _rate if throughput else _time
    marks = tuple(
        Mark(
            name=row.arm,
            backend=row.backend,
            colour=names.colour(row.backend),
            standing=row.standing,
            at=axis.at(estimate.value),
            low=None if estimate.low is None else axis.at(estimate.low),
            high=None if estimate.high is None else axis.at(estimate.high),
            dots=tuple(axis.at(value) for value in dots[row.arm]),
            value=write(estimate),
        )
        for row, estimate in rows
    )
    marks += tuple(
        Mark(
            name=row.arm,
            backend=row.backend,
            colour=names.colour(row.backend),
            standing=row.standing,
            at=None,
            low=None,
            high=None,
            dots=(),
            value=row.standing,
        )
        for row in block.rows
        if row.arm not in dots
    )
    return IntervalChart(
        axis=axis,
        marks=marks,
        intervals=any(mark.low is not None for mark in marks),
        summary="; ".join(map(_in_words, marks)),
    )


def _in_words(mark: Mark) -> str:
    return f"{mark.name} {mark.value}{' (not equal to the reference)' if mark.standing == 'unequal' else ''}"


def _plotted(row: Row, *, throughput: bool) -> Estimate | None:
    return row.items_per_second if throughput else row.median_ns


def _time(estimate: Estimate) -> str:
    return units.time(estimate.value)


def _rate(estimate: Estimate) -> str:
    return f"{units.rate(estimate.value)}/s"


PHASES = ("start", "import", "load", "first call")


def cold(block: ColdBlock) -> BarChart | None:
    """Stack the phases of a cold start, arm by arm; None where no arm has them."""
    rows = [row for row in block.rows if row.total_ns is not None]
    if not rows:
        return None
    totals = [row.total_ns.value for row in rows if row.total_ns is not None]
    scale = units.scale_ns(max(totals))
    axis = axes.make([0.0, *totals], scale.factor, scale.unit, "lower is better", zero=True)
    bars = []
    for row in rows:
        start = 0.0
        parts = []
        for phase, value in zip(PHASES, (row.start_ns, row.import_ns, row.load_ns, row.first_call_ns), strict=True):
            width = axis.at(value or 0.0)
            parts.append(Part(phase=phase, start=round(start, 2), width=width, value=units.time(value)))
            start += width
        bars.append(
            Bar(
                name=row.arm,
                backend=row.backend,
                colour=names.colour(row.backend),
                standing=row.standing,
                parts=tuple(parts),
                low=None,
                high=None,
                value=units.time(row.total_ns.value if row.total_ns else None),
            )
        )
    bars.extend(_missing(row) for row in block.rows if row.total_ns is None)
    return BarChart(
        axis=axis, bars=tuple(bars), phases=True, summary="; ".join(f"{bar.name} {bar.value}" for bar in bars)
    )


def memory(block: MemoryBlock) -> BarChart | None:
    """Draw peak memory, arm by arm, with the range over launches; None where no arm has one."""
    rows = [(row, row.peak_bytes) for row in block.rows if row.peak_bytes is not None]
    if not rows:
        return None
    scale = units.scale_bytes(max(peak for _, peak in rows))
    most = [row.most_bytes or 0.0 for row, _ in rows]
    axis = axes.make([0.0, *most], scale.factor, scale.unit, "lower is better", zero=True)
    bars = tuple(
        Bar(
            name=row.arm,
            backend=row.backend,
            colour=names.colour(row.backend),
            standing=row.standing,
            parts=(Part(phase="peak", start=0.0, width=axis.at(peak), value=units.size(peak)),),
            low=axis.at(row.least_bytes) if row.least_bytes is not None else None,
            high=axis.at(row.most_bytes) if row.most_bytes is not None else None,
            value=units.size(peak),
        )
        for row, peak in rows
    )
    bars += tuple(_missing(row) for row in block.rows if row.peak_bytes is None)
    return BarChart(axis=axis, bars=bars, phases=False, summary="; ".join(f"{bar.name} {bar.value}" for bar in bars))


def _missing(row: ColdRow | MemoryRow) -> Bar:
    """Keep a row for an arm without numbers: what is not there should be seen."""
    return Bar(
        name=row.arm,
        backend=row.backend,
        colour=names.colour(row.backend),
        standing=row.standing,
        parts=(),
        low=None,
        high=None,
        value=row.standing,
    )


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
            + (
                f"; last third against first {units.percent(course.drift, signed=True)}"
                if course.drift is not None
                else ""
            )
        ),
    )
