"""Time against size: a chart and a table of a user's own file that was measured at several sizes."""

import math

from levelfield.analysis.scaling import BySize, Line
from levelfield.errors import printable, shortened
from levelfield.report import charts, tables, units
from levelfield.report.charts import Tick
from levelfield.report.sentences import IN_THESE_MINUTES
from levelfield.report.tables import Column, Table
from levelfield.report.xy_charts import SHAPES, Plane, Spot, decades, path_of

TITLE = "Time against size"
MOST_TICKS = 7
CAPTION = "A line an arm. Hollow marks are not equal to the reference."


def title(found: BySize) -> str:
    """`encoder.onnx over sequence`."""
    return f"{_clean(found.file)} over {_clean(found.over)}"


def chart(found: BySize) -> Plane | None:
    """Return a chart of the time of a call against the size; None where fewer than two points have a time."""
    plotted = [
        (line, point.size, point.row, point.row.call_ns.value)
        for line in found.lines
        for point in line.points
        if point.row.call_ns is not None and 0 < point.row.call_ns.value < math.inf and point.size > 0
    ]
    if len(plotted) < 2:
        return None
    shown = sorted({size for _, size, _, _ in plotted})
    x = charts.make_axis(shown, 1.0, _clean(found.over), "")
    y, y_ticks = decades([time for *_, time in plotted], write=units.time)
    held = tuple(dict.fromkeys(line.held for line in found.lines))
    shape_of = dict(zip(held, SHAPES, strict=False))
    spots: dict[tuple[str, str], list[Spot]] = {}
    for line, size, row, time in plotted:
        spot = Spot(
            x=x.at(size),
            y=y(math.log10(time)),
            arm=line.arm,
            backend=line.backend,
            standing=row.standing,
            shape=shape_of.get(line.held, SHAPES[-1]),
            label=f"{_line(line)}, {_clean(found.over)} {size}: {units.time(time)}",
        )
        spots.setdefault((line.arm, line.held), []).append(spot)
    ticks = tuple(Tick(label=str(size), at=x.at(size)) for size in shown) if len(shown) <= MOST_TICKS else x.ticks
    return Plane(
        x_ticks=ticks,
        y_ticks=y_ticks,
        x_label=f"{x.label}{', logarithmic' if x.log else ''}",
        y_label="time of a call, logarithmic · lower is better",
        spots=tuple(spot for each in spots.values() for spot in each),
        paths=tuple(map(path_of, spots.values())),
        arms=tuple(dict.fromkeys((line.arm, line.backend) for line, *_ in plotted)),
        shapes=tuple((shape_of.get(each, SHAPES[-1]), _clean(each)) for each in held) if len(held) > 1 else (),
    )


def table(found: BySize) -> Table:
    """Return the time of a call of every arm, one column a size."""

    def cost(size: int) -> Column[Line]:
        def of(line: Line) -> str:
            row = line.at(size)
            return units.time_with_interval(row.call_ns) if row is not None else units.NO_VALUE

        return Column(f"{_clean(found.over)} {size}", of, interval=f"95 % {IN_THESE_MINUTES}")

    arm: Column[Line] = Column("Arm", _line, numeric=False)
    heading = f"Time of a call of {title(found)}"
    return tables.make(heading, (arm, *map(cost, found.sizes)), found.lines, label=heading)


def _line(line: Line) -> str:
    return f"{line.arm}, {_clean(line.held)}" if line.held else line.arm


def _clean(text: str) -> str:
    """Return names of a stranger's file as they may be shown."""
    return shortened(printable(text), 60)
