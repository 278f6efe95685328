"""Charts of trainings to a target accuracy: how long each arm takes, and how it gets there. Positions are percents."""

import statistics
from collections.abc import Sequence

import msgspec

from levelfield.analysis.types import ConvergenceBlock, ConvergenceRow
from levelfield.report import axes, charts, units
from levelfield.report.axes import Axis, Tick
from levelfield.report.charts import Chart
from levelfield.report.xy_charts import Path, Plane, Spot, legend

MOST_POINTS = 120
"""Of an arm's curve; a longer one is drawn at as many of its steps, evenly taken."""
_AIR = 4.0
"""Percent above and below the accuracies."""


class CurvePoint(msgspec.Struct, frozen=True):
    """An arm after so many steps: medians over its seeds."""

    step: int
    elapsed_ns: float
    accuracy: float


def times(block: ConvergenceBlock) -> Chart | None:
    """Return a chart of every arm's time to the target, on one axis; None where no arm has one."""
    results = [(row, row.time_ns, row.launch_times_ns) for row in block.rows]
    values = charts.plotted_values(results)
    if not values:
        return None
    scale = units.scale_ns(min(values))
    axis = axes.make(values, scale.factor, f"{scale.unit} of training", "lower is better")
    return charts.interval_chart(results, axis, units.time)


def median_curve(row: ConvergenceRow) -> tuple[CurvePoint, ...]:
    """Return an arm's curve: at every step that all its seeds were evaluated at, medians over the seeds."""
    by_step = [
        {point.step: point for point in curve.points if point.elapsed_ns > 0 and 0 <= point.accuracy <= 1}
        for curve in row.curves
    ]
    if not by_step:
        return ()
    common = sorted(set.intersection(*(set(points) for points in by_step)))
    thinned = common[:: -(-len(common) // MOST_POINTS)] if common else []
    return tuple(
        CurvePoint(
            step=step,
            elapsed_ns=statistics.median(points[step].elapsed_ns for points in by_step),
            accuracy=statistics.median(points[step].accuracy for points in by_step),
        )
        for step in thinned
    )


def accuracy(block: ConvergenceBlock) -> Plane | None:
    """Return a chart of every arm's test accuracy against its time of training, with the target; None without one."""
    curves = [(row, curve) for row in block.rows if (curve := median_curve(row))]
    if not curves or block.target is None or not 0 < block.target <= 1:
        return None
    times = [each.elapsed_ns for _, curve in curves for each in curve]
    scale = units.scale_ns(max(times))
    x = axes.make(times, scale.factor, f"{scale.unit} of training", "")
    bottom = min(block.target, *(each.accuracy for _, curve in curves for each in curve))

    def y(share: float) -> float:
        return round(100 - _AIR - (100 - 2 * _AIR) * (share - bottom) / max(1 - bottom, 1e-9), 2)

    paths = (
        Path(row.backend, tuple((x.at(each.elapsed_ns), y(each.accuracy)) for each in curve)) for row, curve in curves
    )
    spots = (_target_spot(row, block.target, x, y(block.target)) for row, _ in curves)
    return Plane(
        x_ticks=x.ticks,
        y_ticks=tuple(Tick(label=f"{100 * share:g} %", at=y(share)) for share in _shares(bottom)),
        x_label=f"{x.label}{', logarithmic' if x.log else ''}",
        y_label="test accuracy · higher is better",
        spots=tuple(filter(None, spots)),
        paths=tuple(paths),
        arms=legend(row for row, _ in curves),
        ideal=((0.0, y(block.target)), (100.0, y(block.target))),
    )


def _target_spot(row: ConvergenceRow, target: float, x: Axis, y: float) -> Spot | None:
    """Mark when an arm was at the target, median over the seeds that were."""
    if row.median_time_ns is None or row.median_steps is None:
        return None
    return Spot(
        x=x.at(row.median_time_ns),
        y=y,
        backend=row.backend,
        standing=row.standing,
        label=f"{row.arm}: {100 * target:g} % after {units.time(row.median_time_ns)} and "
        f"{units.digits(row.median_steps)} steps (medians over {units.plural(row.seeds_reached, 'seed')})",
    )


def _shares(bottom: float) -> Sequence[float]:
    """Return round shares from the lowest accuracy up to one."""
    step = 0.2 if bottom < 0.5 else 0.1 if bottom < 0.75 else 0.05 if bottom < 0.9 else 0.01
    count = round(1 / step)
    return [index / count for index in range(count + 1) if index / count >= bottom - 1e-9]
