"""Charts with two axes: speed against accuracy, accuracy over training time, operators under a roofline.

Positions are percents; y is from the top.
"""

import math
import statistics
from collections.abc import Callable, Iterable, Sequence

import msgspec

from levelfield.analysis.scaling import Level, Tradeoff
from levelfield.analysis.types import ArmRow, CaseUse, ConvergenceBlock, ConvergenceRow, Row
from levelfield.record.schema import Absent
from levelfield.report import charts, names, units
from levelfield.report.charts import Axis, Tick

SHAPES = ("circle", "square", "triangle", "diamond", "cross")
"""Of the precisions of a chart, in the order of the run: the colour of a mark is that of its backend."""
_AIR = 0.06


class Spot(msgspec.Struct, frozen=True):
    """A point with a shape; `low` and `high` are the ends of its interval on the vertical axis."""

    x: float
    y: float
    arm: str
    backend: str
    standing: str
    label: str
    shape: str = SHAPES[0]
    low: float | None = None
    high: float | None = None


class Path(msgspec.Struct, frozen=True):
    """A line through the points of one arm."""

    arm: str
    backend: str
    points: tuple[tuple[float, float], ...]


class Plane(msgspec.Struct, frozen=True):
    x_ticks: tuple[Tick, ...]
    y_ticks: tuple[Tick, ...]
    x_label: str
    y_label: str
    spots: tuple[Spot, ...]
    paths: tuple[Path, ...]
    arms: tuple[tuple[str, str], ...]
    """Arm and backend, for the legend."""
    shapes: tuple[tuple[str, str], ...] = ()
    """Shape, and its meaning."""
    ideal: tuple[tuple[float, float], ...] = ()
    """Points of a dashed line: the target, or the ceilings."""

    @property
    def summary(self) -> str:
        """The chart in words."""
        return "; ".join(spot.label for spot in self.spots)


def tradeoff(found: Tradeoff) -> Plane | None:
    """Return a chart of items a second against the relative error; None where fewer than two have both."""
    plotted = [
        (level, rate, error) for level in found.levels if (rate := _rate(level.row)) and (error := _error(level))
    ]
    if len(plotted) < 2:
        return None
    rates = [rate for _, rate, _ in plotted]
    scale = units.scale_count(max(rates))
    x = charts.make_axis(rates, scale.factor, f"{scale.unit} items/s".strip(), "higher is better")
    y, y_ticks = decades([error for _, _, error in plotted])
    shape_of = dict(zip(found.precisions, SHAPES, strict=False))
    spots = {
        (level.row.arm, level.precision): Spot(
            x=x.at(rate),
            y=y(math.log10(error)),
            shape=shape_of.get(level.precision, SHAPES[-1]),
            arm=level.row.arm,
            backend=level.row.backend,
            standing=level.row.standing,
            label=f"{level.row.arm}, {level.precision}: {units.rate(rate)} items/s, error {units.error(error)}",
        )
        for level, rate, error in plotted
    }
    arms = legend(level.row for level, _, _ in plotted)
    return Plane(
        x_ticks=x.ticks,
        y_ticks=y_ticks,
        x_label=f"{x.label}{', logarithmic' if x.log else ''} · {x.better}",
        y_label="relative error, logarithmic · lower is better",
        spots=tuple(spots.values()),
        paths=tuple(
            path_of(spots[arm, precision] for precision in found.precisions if (arm, precision) in spots)
            for arm, _ in arms
        ),
        arms=arms,
        shapes=tuple((shape_of.get(precision, SHAPES[-1]), precision) for precision in found.precisions),
    )


def roofline(found: Sequence[CaseUse]) -> Plane | None:
    """Return a chart of what the fastest arm of each operator computes a second, against what it computes for a byte.

    The dashed line is the lower of the two measured ceilings: of what memory delivers, and of matrix products. From a
    mark down to the slowest arm that is equal runs its whisker.

    Returns none where fewer than two have a time.

    References
    ----------
    S. Williams, A. Waterman, D. Patterson (2009). Roofline: an insightful visual performance model for multicore
    architectures. Communications of the ACM 52(4).
    """
    plotted = [use for use in found if use.work.macs]
    if len(plotted) < 2:
        return None
    intensity = [2 * use.work.macs / (use.work.weight_bytes + use.work.activation_bytes) for use in plotted]
    fastest = [min(use.uses, key=lambda each: each.call_ns.value) for use in plotted]
    slowest = [max(use.uses, key=lambda each: each.call_ns.value) for use in plotted]
    flops, bytes_per_s = (ceiling.per_s for ceiling in (plotted[0].ceilings.flops, plotted[0].ceilings.bytes))
    x = charts.make_axis(intensity, 1.0, "FLOP for each byte that is moved once", "")
    y, y_ticks = decades(
        [*(each.flops_per_s.value for each in (*fastest, *slowest)), flops],
        write=lambda flops: units.amount(flops, "FLOP/s"),
    )
    kinds = tuple(dict.fromkeys(_kind(use) for use in plotted))
    shape_of = dict(zip(kinds, SHAPES, strict=False))
    ends = (x.low, min(max(flops / bytes_per_s, x.low), x.high), x.high)
    return Plane(
        x_ticks=x.ticks,
        y_ticks=y_ticks,
        x_label=f"{x.label}{', logarithmic' if x.log else ''}",
        y_label="FLOP/s, logarithmic · higher is better",
        spots=tuple(
            Spot(
                x=x.at(at),
                y=y(math.log10(best.flops_per_s.value)),
                arm=best.arm,
                backend=best.backend,
                standing="ranked",
                label=f"{names.model(use.case.model)}: {best.arm} {units.amount(best.flops_per_s.value, 'FLOP/s')}, "
                f"{worst.arm} {units.amount(worst.flops_per_s.value, 'FLOP/s')}",
                shape=shape_of.get(_kind(use), SHAPES[-1]),
                low=y(math.log10(worst.flops_per_s.value)),
                high=y(math.log10(best.flops_per_s.value)),
            )
            for use, at, best, worst in zip(plotted, intensity, fastest, slowest, strict=True)
        ),
        paths=(),
        arms=tuple(dict.fromkeys((each.arm, each.backend) for each in fastest)),
        shapes=tuple((shape_of.get(kind, SHAPES[-1]), kind) for kind in kinds),
        ideal=tuple((x.at(at), y(math.log10(min(flops, at * bytes_per_s)))) for at in ends),
    )


def _kind(use: CaseUse) -> str:
    """Return what kind of operator it is: `matrix product`, `convolution`, `attention`."""
    kind = next(iter(use.work.macs_by_kind), "").partition(" ")[0]
    return "matrix product" if kind == "dense" else kind


def decades(
    values: Sequence[float], write: Callable[[float], str] | None = None
) -> tuple[Callable[[float], float], tuple[Tick, ...]]:
    """Return the position on a logarithmic axis by the power of ten, from the top, and ticks at whole decades."""
    low = math.floor(math.log10(min(values)))
    high = max(math.ceil(math.log10(max(values)) + 1e-9), low + 1)

    def y(exponent: float) -> float:
        share = (exponent - low) / (high - low)
        return round(100 * (1 - _AIR - (1 - 2 * _AIR) * share), 2)

    exponents = range(low, high + 1, math.ceil((high - low) / 6))
    return y, tuple(
        Tick(label=write(10.0**exponent) if write else units.power(exponent), at=y(exponent)) for exponent in exponents
    )


def legend(rows: Iterable[ArmRow]) -> tuple[tuple[str, str], ...]:
    """Return each arm once, with its backend."""
    return tuple(dict.fromkeys((row.arm, row.backend) for row in rows))


def path_of(spots: Iterable[Spot]) -> Path:
    """Join the points of one arm, in the given order."""
    found = list(spots)
    return Path(found[0].arm, found[0].backend, tuple((spot.x, spot.y) for spot in found))


def _rate(row: Row) -> float | None:
    return row.items_per_second.value if row.items_per_second is not None else None


def _error(level: Level) -> float | None:
    error = level.row.parity.relative_error if level.row.parity is not None else None
    return None if error is None or isinstance(error, Absent) or error <= 0 else error


MOST_POINTS = 120
"""Of an arm's curve; a longer one is drawn at as many of its steps, evenly taken."""
_AIR_CURVES = 4.0
"""Percent above and below the accuracies."""


class CurvePoint(msgspec.Struct, frozen=True):
    """An arm after so many steps: medians over its seeds."""

    step: int
    elapsed_ns: float
    accuracy: float


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
    x = charts.make_axis(times, scale.factor, f"{scale.unit} of training", "")
    bottom = min(block.target, *(each.accuracy for _, curve in curves for each in curve))

    def y(share: float) -> float:
        return round(100 - _AIR_CURVES - (100 - 2 * _AIR_CURVES) * (share - bottom) / max(1 - bottom, 1e-9), 2)

    paths = (
        Path(row.arm, row.backend, tuple((x.at(each.elapsed_ns), y(each.accuracy)) for each in curve))
        for row, curve in curves
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
        arm=row.arm,
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
