"""Tables of one question in several precisions, or with several numbers of threads or processes."""

from levelfield.analysis.precision import Level, Tradeoff
from levelfield.analysis.scaling import Curve, Over, Point, Scaling
from levelfield.analysis.types import Estimate, Row
from levelfield.record.schema import Absent, Case
from levelfield.report import columns, names, tables, units
from levelfield.report.separation import IN_THESE_MINUTES
from levelfield.report.tables import NONE, Cell, Column, Table


def where(case: Case) -> str:
    """`ResNet-50, throughput, batch 8`."""
    return f"{names.model(case.model)}, {names.scenario_title(case).lower()}, batch {case.batch}"


def _cost(row: Row, case: Case) -> str:
    if case.per_item:
        return units.rate_with_interval(row.items_per_second)
    return units.time_with_interval(row.call_ns)


def _arm(row: Row) -> Cell:
    return columns.arm_cell(row, row.reason if row.standing not in ("shown", "ranked") else "")


def tradeoff(found: Tradeoff) -> Table:
    """Return every arm in every precision, against itself in fp32 and against the reference."""
    case = found.case
    chosen: tuple[Column[Level], ...] = (
        Column("Arm", lambda level: _arm(level.row), numeric=False),
        Column("Precision", lambda level: level.precision, numeric=False),
        Column(
            "Items/s" if case.per_item else "Geometric mean",
            lambda level: _cost(level.row, case),
            interval=f"95 % {IN_THESE_MINUTES}",
        ),
        Column("Against fp32", lambda level: units.times(level.speed_up), interval="95 %"),
        Column("Relative error", _error, small="tolerance"),
        Column("Cosine", _cosine, wide=True),
        Column("Same first class", _same_class, wide=True),
        Column("Computed in, and who says so", _computed_in, numeric=False, wide=True),
    )
    title = f"{where(case)}: each precision against the same arm in fp32, and against the float64 reference"
    return tables.make(
        title,
        chosen,
        found.levels,
        marks=lambda level: tables.marks_of(level.row),
        label=f"precisions of {where(case)}",
    )


def _error(level: Level) -> Cell:
    parity = level.row.parity
    return tables.error(parity.relative_error, under=units.error(parity.tolerance)) if parity is not None else NONE


def _cosine(level: Level) -> Cell | str:
    parity = level.row.parity
    if parity is None:
        return NONE
    value = parity.cosine
    return tables.unknown(value, units.NO_VALUE) if isinstance(value, Absent) else units.fixed(value, 4)


def _same_class(level: Level) -> Cell:
    parity = level.row.parity
    if parity is None:
        return NONE
    value = parity.top_1
    if isinstance(value, Absent):
        return tables.unknown(value, units.NO_VALUE)
    return Cell(units.percent(value), f"of {parity.inputs}")


def _computed_in(level: Level) -> Cell:
    parity = level.row.parity
    if parity is None:
        return NONE
    if parity.emulated:
        by = f", emulated: {parity.emulated}"
    elif level.computed is not None and level.computed.products:
        products = ", ".join(f"{count} in {name}" for name, count in level.computed.products.items())
        by = f": {products} by {level.computed.source}"
    else:
        by = " by the size of its error"
    return Cell(f"{parity.computed_in or 'not judged'}{by}", tone="said")


def scaling(found: Scaling) -> Table:
    """Return speed-up and efficiency by threads or processes."""
    case = found.case

    def point(count: int) -> list[Column[Curve]]:
        def of(curve: Curve) -> Point | None:
            return curve.at(count)

        def speed_up(curve: Curve) -> Estimate | None:
            known = of(curve)
            return known.speed_up if known else None

        def efficiency(curve: Curve) -> Estimate | None:
            known = of(curve)
            return known.efficiency if known else None

        cost: Column[Curve] = Column(
            units.plural(count, found.one, found.over),
            lambda curve: _cost(known.row, case) if (known := of(curve)) else units.NO_VALUE,
            interval=f"95 % {IN_THESE_MINUTES}",
            only="page",
            wide=True,
        )
        if count == found.counts[0]:
            return [cost]
        return [
            cost,
            Column(
                lambda _: f"{count} against {found.counts[0]}", lambda curve: units.times(speed_up(curve)), only="text"
            ),
            Column("Speed-up", lambda curve: units.times(speed_up(curve)), interval="95 %", only="page"),
            Column("Efficiency", lambda curve: units.share_with_interval(efficiency(curve)), interval="95 %"),
        ]

    arm: Column[Curve] = Column("Arm", lambda curve: _arm(curve.points[-1].row), numeric=False)
    chosen = (arm, *(column for count in found.counts for column in point(count)))
    unit: Over = found.over
    title = (
        f"{where(case)}: {'items a second' if case.per_item else 'time'}, speed-up and efficiency by {unit}; "
        f"efficiency is the share of what the added {unit} could have given"
    )
    return tables.make(title, chosen, found.curves, label=f"{unit} of {where(case)}")
