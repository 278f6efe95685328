"""What MLPerf LoadGen found, for pages and terminals: charts, and settings beside those of MLPerf's rules."""

import statistics
from collections.abc import Sequence

import msgspec

from levelfield.analysis.loadgen import deciding
from levelfield.analysis.types import LoadGenBlock, LoadGenRow, LoadPoint
from levelfield.record.schema import Run
from levelfield.report import axes, charts, units
from levelfield.report.charts import Chart
from levelfield.report.xy_charts import Path, Plane, Spot, legend

TITLE = "MLPerf LoadGen"
NOT_A_RESULT = (
    "These are no MLPerf results: MLPerf's LoadGen sent the queries, but for less time and from fewer samples than "
    "MLPerf's rules ask for, and nobody submitted or reviewed them."
)
_MEANINGS = {
    "min_duration_ms": "shortest test",
    "min_query_count": "fewest queries",
    "performance_sample_count_override": "different samples",
    "server_target_latency_ns": "latency target",
    "single_stream_expected_latency_ns": "expected time of a query",
    "multi_stream_expected_latency_ns": "expected time of a query",
    "offline_expected_qps": "expected samples a second",
}
_EXPECTED = "a guess, from which LoadGen prepares enough queries; it decides nothing else"
_BETWEEN = 1.02
"""Rates nearer to each other than this are one point of a curve."""


class Setting(msgspec.Struct, frozen=True):
    """One setting that was given to LoadGen."""

    name: str
    """As LoadGen calls it."""
    meaning: str
    given: str
    rule: str
    """What MLPerf's rules say; `–` where that is no rule."""
    note: str = ""


def settings(block: LoadGenBlock) -> tuple[Setting, ...]:
    """Return the settings of a block's last launch beside those of MLPerf's rules."""
    found = []
    for name, value in block.settings.items():
        guess = "expected" in name
        found.append(
            Setting(
                name=name,
                meaning=_MEANINGS.get(name, name.replace("_", " ")),
                given=_written(name, value),
                rule=units.NO_VALUE if guess or name not in block.rules else _written(name, block.rules[name]),
                note=_EXPECTED if guess else "",
            )
        )
    return tuple(found)


def _written(name: str, value: float) -> str:
    if name.endswith("_ns"):
        return units.time(value)
    if name.endswith("_ms"):
        return units.time(1e6 * value)
    if name == "performance_sample_count_override" and not value:
        return "all of the data set"
    return units.plain(value)


def what(block: LoadGenBlock) -> str:
    """Return what the value of an arm is: `90th percentile of a query`, `queries a second within 15 ms`."""
    match block.scenario:
        case "SingleStream":
            return "90th percentile of a query"
        case "MultiStream":
            return f"99th percentile of a query of {block.case.batch} samples"
        case "Server":
            target = f"{units.time(block.target_ns)} (99th percentile)" if block.target_ns else "the latency target"
            return f"queries a second within {target}"
        case _:
            return "samples a second"


def cost(row: LoadGenRow) -> str:
    """Write an arm's value with its interval: a rate where rates count, else a time."""
    if row.per_second is not None:
        return units.rate_with_interval(row.per_second)
    return units.time_with_interval(row.value_ns)


def validity(row: LoadGenRow) -> str:
    """Write what LoadGen itself said: `VALID`, `INVALID`, or in how many tests which."""
    if not row.tests:
        return units.NO_VALUE
    if row.tests_valid in (0, row.tests):
        return "VALID" if row.tests_valid else "INVALID"
    return f"VALID in {row.tests_valid} of {row.tests}"


def values(block: LoadGenBlock) -> Chart | None:
    """Return a chart of every arm's value on one axis; None where no arm has one."""
    if block.case.per_item:
        rates = [
            (row, row.per_second, tuple(1e9 / each for each in row.launch_values_ns if each > 0)) for row in block.rows
        ]
        plotted = charts.plotted_values(rates)
        if not plotted:
            return None
        counted = units.scale_count(max(plotted))
        axis = axes.make(plotted, counted.factor, f"{counted.unit} {block.case.rate_unit}".strip(), "higher is better")
        return charts.interval_chart(rates, axis, lambda rate: f"{units.rate(rate)} {block.case.rate_unit}")
    times = [(row, row.value_ns, row.launch_values_ns) for row in block.rows]
    plotted = charts.plotted_values(times)
    if not plotted:
        return None
    scale = units.scale_ns(min(plotted))
    return charts.interval_chart(times, axes.make(plotted, scale.factor, scale.unit, "lower is better"), units.time)


class CurvePoint(msgspec.Struct, frozen=True):
    """One offered rate of an arm: medians over the tests at about this rate."""

    offered_per_second: float
    p99_ns: float
    held: int
    tests: int
    late_share: float | None
    not_served: int


def curve(row: LoadGenRow) -> tuple[CurvePoint, ...]:
    """Return an arm's latency against offered load; tests at all but the same rate are one point."""
    groups: list[list[LoadPoint]] = []
    for point in (each for each in row.points if each.p99_ns is not None):
        if groups and point.offered_per_second <= groups[-1][0].offered_per_second * _BETWEEN:
            groups[-1].append(point)
        else:
            groups.append([point])
    return tuple(map(_together, groups))


def _together(points: Sequence[LoadPoint]) -> CurvePoint:
    late = [each.late_share for each in points if each.late_share is not None]
    return CurvePoint(
        offered_per_second=statistics.median(each.offered_per_second for each in points),
        p99_ns=statistics.median(each.p99_ns for each in points if each.p99_ns is not None),
        held=sum(each.held for each in points),
        tests=len(points),
        late_share=statistics.median(late) if late else None,
        not_served=sum(each.not_served for each in points),
    )


def load(block: LoadGenBlock) -> Plane | None:
    """Return a chart of every arm's 99th percentile against the offered load, with the target; None without one."""
    curves = [(row, points) for row in block.rows if (points := curve(row))]
    if not curves or not block.target_ns:
        return None
    rates = [point.offered_per_second for _, points in curves for point in points]
    latencies = [float(block.target_ns), *(point.p99_ns for _, points in curves for point in points)]
    counted, scale = units.scale_count(max(rates)), units.scale_ns(min(latencies))
    x = axes.make(rates, counted.factor, f"{counted.unit} queries/s offered".strip(), "")
    y = axes.make(latencies, scale.factor, f"{scale.unit}, 99th percentile of a query", "lower is better")
    spots = [
        [
            Spot(
                x=x.at(point.offered_per_second),
                y=round(100 - y.at(point.p99_ns), 2),
                backend=row.backend,
                standing="ranked" if point.held == point.tests else "unequal",
                label=_label(row, point),
            )
            for point in points
        ]
        for row, points in curves
    ]
    target = round(100 - y.at(block.target_ns), 2)
    return Plane(
        x_ticks=x.ticks,
        y_ticks=tuple(msgspec.structs.replace(tick, at=round(100 - tick.at, 2)) for tick in y.ticks),
        x_label=f"{x.label}{', logarithmic' if x.log else ''}",
        y_label=f"{y.label}{', logarithmic' if y.log else ''} · {y.better}",
        spots=tuple(spot for each in spots for spot in each),
        paths=tuple(Path(each[0].backend, tuple((spot.x, spot.y) for spot in each)) for each in spots),
        arms=legend(row for row, _ in curves),
        ideal=((0.0, target), (100.0, target)),
    )


def _label(row: LoadGenRow, point: CurvePoint) -> str:
    held = "held the target" if point.held == point.tests else f"held the target in {point.held} of {point.tests} tests"
    late = "" if point.late_share is None else f", {units.percent(point.late_share)} of the queries late"
    lost = f", {units.plural(point.not_served, 'query', 'queries')} not served" if point.not_served else ""
    return (
        f"{row.arm} at {units.rate(point.offered_per_second)} queries/s: {units.time(point.p99_ns)}, {held}{late}{lost}"
    )


class Log(msgspec.Struct, frozen=True):
    """LoadGen's logs of one launch, for a page."""

    arm: str
    summary: str


def logs(run: Run, block: LoadGenBlock) -> tuple[Log, ...]:
    """Return LoadGen's own summary of the deciding test in each arm's first launch; whole logs are in the record."""
    found: dict[str, Log] = {}
    for each in run.blocks:
        if each.case != block.case:
            continue
        for generation in each.generations:
            for launch in generation.launches:
                if launch.loadgen is not None and launch.arm not in found:
                    last = deciding(launch.loadgen)[-1:]
                    found[launch.arm] = Log(launch.arm, last[0].summary if last else "")
    return tuple(found.values())
