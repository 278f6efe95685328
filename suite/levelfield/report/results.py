"""Tables of results, one for each case: made from the columns of `columns.py` for pages, terminals and Markdown."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeVar

from levelfield.analysis.precision import Level, Tradeoff
from levelfield.analysis.scaling import Curve, Over, Point, Scaling
from levelfield.analysis.types import (
    ArmRow,
    BlockAnalysis,
    ColdBlock,
    ConvergenceBlock,
    Estimate,
    LoadGenBlock,
    LoadPoint,
    MemoryBlock,
    Row,
    TimedBlock,
)
from levelfield.record.schema import Absent, Case
from levelfield.report import columns, loadgen, names, sentences, states, tables, units
from levelfield.report.columns import Result
from levelfield.report.separation import IN_THESE_MINUTES
from levelfield.report.tables import NONE, Cell, Column, Table
from levelfield.report.units import Scale

BlockType = TypeVar("BlockType", bound=BlockAnalysis)


def of_block(
    title: str,
    chosen: Iterable[Column[Any]],
    block: BlockAnalysis,
    **further: Any,  # noqa: ANN401 (fields of `Table`)
) -> Table:
    """Return the table of a block in some columns; of a block of windows all times and all rates share a unit."""
    scales = further.pop("scales", None) or (_scales(block) if isinstance(block, TimedBlock) else {})
    rows = [Result(row, block) for row in block.rows]
    return tables.make(title, chosen, rows, scales=scales, marks=_marks, **further)


def _scales(block: TimedBlock) -> dict[tables.Kind, Scale]:
    times = [row.call_ns.value for row in block.rows if row.call_ns is not None]
    rates = [row.items_per_second.value for row in block.rows if row.items_per_second is not None]
    return {"time": tables.scale("time", times, min), "rate": tables.scale("rate", rates)}


def _marks(it: Result[Any, Any]) -> Mapping[str, Any]:
    row: ArmRow = it.row
    data: dict[str, str] = {}
    if isinstance(it.block, TimedBlock):
        if it.row.warming:
            data["warming"] = " ".join(f"{generation}:{windows}" for generation, windows in it.row.warming)
        if it.row.not_calm:
            data["not-calm"] = states.not_calm(it.row)
    return {"arm": row.arm, "backend": row.backend, "standing": row.standing, "data": data}


def timed(block: TimedBlock, among: Sequence[TimedBlock]) -> Table:
    """Return the table of a case that was timed in windows."""
    title = ", ".join([sentences.title(block.case), *sentences.precisions_apart(block, among)])
    return of_block(title, columns.TIMED, block)


def launches(block: TimedBlock) -> Table:
    """Return what the figures of a case rest on, launch by launch."""
    case = block.case
    label = f"{names.model(case.model)}, {names.scenario_title(case)}{names.batch(case)}, launch by launch"
    return of_block("Typical median of each launch’s windows", columns.LAUNCHES, block, label=label)


def trained(block: ConvergenceBlock, among: Sequence[ConvergenceBlock]) -> Table:
    """Return the table of trainings to a target."""
    title = f"{sentences.named(block, among)}, training to {sentences.goal(block)} on the digits"
    return of_block(title, columns.TRAINED, block, scales={"time": training_scale(block)})


def training_scale(block: ConvergenceBlock) -> Scale:
    """Return the unit for times to the target."""
    return tables.scale("time", [row.time_ns.value for row in block.rows if row.time_ns is not None], min)


def seeds(block: ConvergenceBlock, where: str) -> Table:
    """Return times and steps seed by seed."""
    scale = training_scale(block)

    def series(it: columns.Trained) -> Cell:
        parts = (
            f"{units.digits(curve.reached.elapsed_ns / scale.factor)}, {curve.reached.step}"
            if curve.reached
            else "not there"
            for curve in it.row.curves
        )
        return Cell(" · ".join(parts) or units.NO_VALUE, tone="series")

    chosen: tuple[Column[columns.Trained], ...] = (
        columns.NAME,
        Column("Version", lambda it: it.row.version or units.NO_VALUE, numeric=False),
        Column("Seed by seed: time, steps", series, numeric=False),
        Column("Disturbed", lambda it: str(it.row.seeds_disturbed)),
        Column("Diverged", lambda it: str(it.row.seeds_diverged)),
    )
    title = f"Training time and steps of each seed until the target, {scale.unit}"
    return of_block(title, chosen, block, look="compact", label=f"seeds of {where}")


def driven(block: LoadGenBlock, among: Sequence[LoadGenBlock]) -> Table:
    """Return the table of a case that LoadGen drove."""
    title = f"{sentences.named(block, among)}, LoadGen {block.scenario}: {loadgen.what(block)}"
    return of_block(title, columns.DRIVEN, block)


def loadgen_settings(block: LoadGenBlock, where: str) -> Table:
    """Return what was given to LoadGen beside what MLPerf's rules ask for."""
    chosen: tuple[Column[loadgen.Setting], ...] = (
        Column("Setting", lambda each: Cell(each.name, tone="code"), numeric=False),
        Column("", lambda each: Cell(each.meaning, why=each.note), numeric=False),
        Column("Here", lambda each: each.given),
        Column("MLPerf’s rules", lambda each: each.rule),
    )
    title = (
        f"What was given to LoadGen {block.version}, and what MLPerf’s rules ask for; all other settings are LoadGen’s "
        "own for the model"
    )
    given = loadgen.settings(block)
    return tables.make(title, chosen, given, look="compact", label=f"settings of LoadGen, {where}", marks=_no_marks)


def _no_marks(_: object) -> Mapping[str, Any]:
    return {}


def offered_loads(block: LoadGenBlock, where: str) -> Table:
    """Return every rate at which LoadGen sent queries (Server)."""
    chosen: tuple[Column[tuple[ArmRow, LoadPoint]], ...] = (
        Column("Arm", lambda it: Cell(it[0].arm, backend=it[0].backend), numeric=False),
        Column("Launch", lambda it: str(it[1].generation + 1)),
        Column("Offered, queries/s", lambda it: units.rate(it[1].offered_per_second)),
        Column("Median", lambda it: units.time(it[1].median_ns)),
        Column("99th percentile", lambda it: units.time(it[1].p99_ns)),
        Column("Late", lambda it: None if it[1].late_share is None else units.percent(it[1].late_share)),
        Column("Not served", lambda it: str(it[1].not_served)),
        Column("Target", lambda it: "held" if it[1].held else "not held", numeric=False),
        Column("LoadGen says", lambda it: "VALID" if it[1].valid else "INVALID", numeric=False),
    )
    points = [(row, point) for row in block.rows for point in row.points]
    label = f"offered loads of {where}"
    return tables.make("Every rate that was tried", chosen, points, look="compact", label=label, marks=_no_marks)


def cold(block: ColdBlock, among: Sequence[ColdBlock]) -> Table:
    """Return the phases of a cold start."""
    where = sentences.named(block, among)
    totals = [row.total_ns.value for row in block.rows if row.total_ns is not None]
    scale = tables.scale("time", totals)
    note = ": phases as medians over launches, the total as their geometric mean" if block is among[0] else ""
    title, label = f"Cold start of {where}, {scale.unit}{note}", f"cold start of {where}"
    return of_block(title, columns.COLD, block, scales={"time": scale}, label=label, case=block.case)


def peak(block: MemoryBlock, among: Sequence[MemoryBlock]) -> Table:
    """Return the peak memory of a case."""
    where = sentences.named(block, among)
    scale = tables.scale("bytes", [row.most_bytes for row in block.rows])
    note = ": median and range over launches" if block is among[0] else ""
    title, label = f"Peak resident memory of {where}{note}", f"peak memory of {where}"
    return of_block(title, columns.PEAK, block, scales={"bytes": scale}, label=label, case=block.case)


def grid(title: str, blocks: Sequence[BlockType], value: Callable[[Any], str]) -> Table:
    """Return arms by models, with one value of each."""
    rows = {row.arm: row for block in blocks for row in block.rows}

    def column(block: BlockType) -> Column[ArmRow]:
        by_arm = {row.arm: row for row in block.rows}

        def cell(row: ArmRow) -> Cell:
            own = by_arm.get(row.arm)
            if own is None:
                return NONE
            mark = columns.arm_cell(own).mark
            return Cell(f"{mark} {value(own)}" if own.standing == "unequal" else mark or value(own))

        return Column(lambda _: sentences.named(block, blocks), cell)

    chosen = (tables.ARM, *map(column, blocks))
    return tables.make(title, chosen, list(rows.values()), marks=lambda row: {"arm": row.arm, "backend": row.backend})


def question(case: Case) -> str:
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
    title = f"{question(case)}: each precision against the same arm in fp32, and against the float64 reference"
    return tables.make(
        title,
        chosen,
        found.levels,
        marks=lambda level: tables.marks_of(level.row),
        label=f"precisions of {question(case)}",
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
        f"{question(case)}: {'items a second' if case.per_item else 'time'}, speed-up and efficiency by {unit}; "
        f"efficiency is the share of what the added {unit} could have given"
    )
    return tables.make(title, chosen, found.curves, label=f"{unit} of {question(case)}")
