"""Tables of results and their columns: rank, arm, distance to the best … A new column is one entry here.

It is then on the page, in the terminal and in Markdown, and where it has a name for files, in CSV.
"""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Generic, TypeVar

from levelfield.analysis import types
from levelfield.analysis.scaling import Curve, Level, Over, Scaling, Tradeoff
from levelfield.record.schema import Absent, Case
from levelfield.report import loadgen, names, parity, sentences, states, tables, units
from levelfield.report.sentences import IN_THESE_MINUTES
from levelfield.report.tables import ARM, NONE, Cell, Column, Table
from levelfield.report.units import Scale

RowType = TypeVar("RowType", bound=types.ArmRow)
BlockType = TypeVar("BlockType", bound=types.BlockAnalysis)


@dataclass(frozen=True)
class Result(Generic[RowType, BlockType]):
    """A row of analysis, and the block that it is of."""

    row: RowType
    block: BlockType


Ranked = Result[Any, Any]
Timed = Result[types.Row, types.TimedBlock]
Trained = Result[types.ConvergenceRow, types.ConvergenceBlock]
Driven = Result[types.LoadGenRow, types.LoadGenBlock]
Cold = Result[types.ColdRow, types.ColdBlock]
Peak = Result[types.MemoryRow, types.MemoryBlock]

_MARKS = {"unequal": "not equal", "failed": "failed", "absent": "absent", "control": "control"}


def arm_cell(row: types.ArmRow, why: str = "") -> Cell:
    """Return the cell of an arm that may lack a rank; `why` stands below its name on the page."""
    return Cell(row.arm, mark=_MARKS.get(row.standing, ""), why=why, backend=row.backend)


def _unranked(it: Ranked) -> Cell:
    return arm_cell(it.row, it.row.reason if it.row.reason != it.block.unranked_reason else "")


def _arm(row: types.ArmRow) -> Cell:
    return arm_cell(row, row.reason if row.standing not in ("shown", "ranked") else "")


def _behind(it: Ranked) -> Cell:
    row: types.RankedRow = it.row
    block: types.RankedBlock = it.block
    if row.ratio is None:
        return NONE
    if row.arm == block.best:
        return Cell("best", tone="best")
    text, interval = units.behind(row.ratio)
    return Cell(text, interval, under=sentences.best_is(row, block) if interval and row.verdict != "slower" else "")


def _per_item(rows: Sequence[Timed]) -> bool:
    return bool(rows) and rows[0].block.case.per_item


def _measured(rows: Sequence[Timed]) -> bool:
    return any(it.row.call_ns is not None for it in rows)


def _trains(rows: Sequence[Timed]) -> bool:
    return bool(rows) and rows[0].block.case.trains


def _in_calls(rows: Sequence[Timed]) -> bool:
    return _measured(rows) and not _per_item(rows)


def _in_items(rows: Sequence[Timed]) -> bool:
    return _measured(rows) and _per_item(rows)


def _rate_unit(rows: Sequence[Timed]) -> str:
    return rows[0].block.case.rate_unit


def _disturbed(rows: Sequence[Timed]) -> bool:
    return bool(rows) and bool(rows[0].block.rounds_disturbed)


def _one_stream(rows: Sequence[Driven]) -> bool:
    return bool(rows) and rows[0].block.scenario == "SingleStream"


def _share(value: float | None) -> str:
    return units.NO_VALUE if value is None else units.accuracy(value)


def _has_quantiles(rows: Sequence[Timed]) -> bool:
    return _measured(rows) and (_trains(rows) or not _per_item(rows))


def _reaches_p999(rows: Sequence[Timed]) -> bool:
    return _has_quantiles(rows) and any(it.row.p999_ns is not None for it in rows)


RANK: Column[Ranked] = Column("Rank", lambda it: it.row.rank, files=("rank",))
BEHIND: Column[Ranked] = Column(
    "Behind the best",
    _behind,
    interval="95 %",
    files=("behind_best", "behind_low", "behind_high"),
    exact=lambda it: it.row.ratio and it.row.ratio.extra,
)
HALF_WIDTH: Column[Ranked] = Column(
    "Half-width",
    lambda it: None if it.row.half_width is None or it.row.ratio is None else math.expm1(it.row.half_width),
    files=("behind_half_width",),
    only="files",
)
BEST_IS: Column[Ranked] = Column(
    "Best is",
    lambda it: None if it.row.ratio is None else sentences.best_is(it.row, it.block),
    files=("best_is",),
    numeric=False,
    only="text",
)
NAME: Column[Any] = replace(ARM, value=lambda it: Cell(it.row.arm, backend=it.row.backend))
"""Of an arm, and nothing more of it."""
CPU: Column[Timed] = Column(
    "CPU, cores",
    lambda it: None if it.row.cpu_cores is None else f"{it.row.cpu_cores:.2f}",
    files=("cpu_cores",),
    exact=lambda it: it.row.cpu_cores,
    wide=True,
    only="text",
)
_CALL: Column[Timed] = Column("Geometric mean", lambda it: it.row.call_ns, "time", interval="95 %", where=_in_calls)
TIMED: tuple[Column[Timed], ...] = (
    RANK,
    Column("Arm", lambda it: _arm(it.row), numeric=False),
    BEHIND,
    HALF_WIDTH,
    Column(
        "When a neighbour is busy",
        lambda it: states.contended(it.row) or None,
        interval="95 %",
        files=("contended_behind", "contended_low", "contended_high"),
        exact=lambda it: it.row.contended and it.row.contended.extra,
        where=lambda rows: any(it.row.contended is not None for it in rows),
    ),
    Column(_rate_unit, lambda it: it.row.items_per_second, "rate", interval="95 %", where=_in_items),
    _CALL,
    replace(_CALL, where=_in_items, wide=True),
    Column("p50", lambda it: it.row.p50_ns, "time", where=_has_quantiles, wide=True, only="page"),
    Column("p90", lambda it: it.row.p90_ns, "time", files=("p90_ns",), where=_has_quantiles, wide=True),
    Column("p99", lambda it: it.row.p99_ns, "time", files=("p99_ns",), where=_has_quantiles, wide=True),
    Column("p99.9", lambda it: it.row.p999_ns, "time", where=_reaches_p999, wide=True, only="page"),
    CPU,
    Column("Peak memory", lambda it: units.size(it.row.peak_bytes), where=_trains, wide=True),
    BEST_IS,
)
"""Of windows in rounds: latency, throughput, training."""
LAUNCHES: tuple[Column[Timed], ...] = (
    NAME,
    Column("Version", lambda it: it.row.version or units.NO_VALUE, numeric=False),
    Column("Launch by launch", lambda it: it.row.launch_medians_ns, "time", numeric=False),
    replace(CPU, only=""),
    Column("Calls", lambda it: it.row.counts.calls),
    Column("Windows", lambda it: str(it.row.counts.windows)),
    Column("Left out", lambda it: sentences.windows_left_out(it.row.counts)),
    Column(
        "With all rounds",
        lambda it: it.row.with_disturbed,
        "time",
        where=lambda rows: _disturbed(rows) and not _per_item(rows),
    ),
    Column(
        lambda rows: f"{_rate_unit(rows)} with all rounds",
        lambda it: it.row.with_disturbed,
        "rate",
        where=lambda rows: _disturbed(rows) and _per_item(rows),
    ),
)
"""What the figures of windows rest on."""
TRAINED: tuple[Column[Trained], ...] = (
    RANK,
    Column("Arm", _unranked, numeric=False),
    BEHIND,
    HALF_WIDTH,
    Column("Time", lambda it: it.row.time_ns, "time", interval=f"95 % {IN_THESE_MINUTES}"),
    Column("Steps", lambda it: it.row.steps, interval="95 %"),
    Column("Seeds that reached it", lambda it: f"{it.row.seeds_reached} of {it.row.launches}", wide=True),
    Column(
        "Accuracy at the end",
        lambda it: Cell(_share(it.row.accuracy), under=_share(it.row.best_accuracy)),
        small="highest",
        wide=True,
    ),
    Column("Mean step", lambda it: units.time(it.row.step_ns), wide=True),
    Column("Load and compile", lambda it: units.time(it.row.load_ns), wide=True),
    Column("Peak memory", lambda it: units.size(it.row.peak_bytes), wide=True),
    Column("First losses off by", lambda it: parity.off_by(it.row.parity), small="tolerance", only="page"),
    BEST_IS,
)
"""Of trainings to a target accuracy."""
DRIVEN: tuple[Column[Driven], ...] = (
    RANK,
    Column("Arm", _unranked, numeric=False),
    Column(
        lambda rows: sentences.capitalised(loadgen.what(rows[0].block)),
        lambda it: sentences.cost(it.row, it.block.case),
        interval=f"95 % {IN_THESE_MINUTES}",
    ),
    BEHIND,
    HALF_WIDTH,
    Column(
        "Levelfield’s own",
        lambda it: units.time(it.row.own_p90_ns),
        small="same workers, same minutes",
        where=_one_stream,
        wide=True,
    ),
    Column(
        "LoadGen’s over it", lambda it: units.times(it.row.against_own), interval="95 %", where=_one_stream, wide=True
    ),
    Column("LoadGen says", lambda it: Cell(loadgen.validity(it.row), why="; ".join(it.row.why_invalid)), numeric=False),
    BEST_IS,
)
"""Of cases that MLPerf LoadGen drove."""
COLD: tuple[Column[Cold], ...] = (
    Column("Arm", lambda it: _arm(it.row), numeric=False),
    Column("Start", lambda it: it.row.start_ns, "time", wide=True),
    Column("Import", lambda it: it.row.import_ns, "time", wide=True),
    Column("Load and compile", lambda it: it.row.load_ns, "time", wide=True),
    Column("First call", lambda it: it.row.first_call_ns, "time", wide=True),
    Column("Total", lambda it: it.row.total_ns, "time", interval="95 %"),
    Column("Launches", lambda it: str(it.row.launches), wide=True),
)
"""From nothing to the first answer."""
PEAK: tuple[Column[Peak], ...] = (
    Column("Arm", lambda it: _arm(it.row), numeric=False),
    Column("Peak", lambda it: it.row.peak_bytes, "bytes"),
    Column("Least", lambda it: it.row.least_bytes, "bytes"),
    Column("Most", lambda it: it.row.most_bytes, "bytes"),
    Column(
        "Read from",
        lambda it: it.row.source or units.NO_VALUE,
        where=lambda rows: len({it.row.source for it in rows if it.row.source}) > 1,
        numeric=False,
    ),
    Column("Launches", lambda it: str(it.row.launches)),
)
"""Of the worker's memory."""


def of_row(row: types.ArmRow) -> tuple[Column[Any], ...]:
    """Return the columns of rows of this kind."""
    match row:
        case types.Row():
            return TIMED
        case types.ConvergenceRow():
            return TRAINED
        case types.LoadGenRow():
            return DRIVEN
        case types.ColdRow():
            return COLD
        case _:
            return PEAK


def in_files() -> tuple[str, ...]:
    """Return the names that columns of results have in files, each once."""
    every: tuple[Column[Any], ...] = (*TIMED, *TRAINED, *DRIVEN, *COLD, *PEAK)
    return tuple(dict.fromkeys(name for column in every for name in column.files))


def of_block(
    title: str,
    chosen: Iterable[Column[Any]],
    block: types.BlockAnalysis,
    **further: Any,  # noqa: ANN401 (fields of `Table`)
) -> Table:
    """Return the table of a block in some columns; of a block of windows all times and all rates share a unit."""
    scales = further.pop("scales", None) or (_scales(block) if isinstance(block, types.TimedBlock) else {})
    rows = [Result(row, block) for row in block.rows]
    return tables.make(title, chosen, rows, scales=scales, marks=_marks, **further)


def _scales(block: types.TimedBlock) -> dict[tables.Kind, Scale]:
    times = [row.call_ns.value for row in block.rows if row.call_ns is not None]
    rates = [row.items_per_second.value for row in block.rows if row.items_per_second is not None]
    return {"time": tables.scale("time", times, min), "rate": tables.scale("rate", rates)}


def _marks(it: Result[Any, Any]) -> Mapping[str, Any]:
    row: types.ArmRow = it.row
    data: dict[str, str] = {}
    if isinstance(it.block, types.TimedBlock):
        if it.row.warming:
            data["warming"] = " ".join(f"{generation}:{windows}" for generation, windows in it.row.warming)
        if it.row.not_calm:
            data["not-calm"] = states.not_calm(it.row)
    return {"arm": row.arm, "backend": row.backend, "standing": row.standing, "data": data}


def timed(block: types.TimedBlock, among: Sequence[types.TimedBlock]) -> Table:
    title = ", ".join([sentences.title(block.case), *sentences.precisions_apart(block, among)])
    return of_block(title, TIMED, block)


def launches(block: types.TimedBlock) -> Table:
    """Return what the figures of a case rest on, launch by launch."""
    case = block.case
    label = f"{names.model(case.model)}, {names.scenario_title(case)}{names.batch(case)}, launch by launch"
    return of_block("Typical median of each launch’s windows", LAUNCHES, block, label=label)


def trained(block: types.ConvergenceBlock, among: Sequence[types.ConvergenceBlock]) -> Table:
    title = f"{sentences.named(block, among)}, training to {sentences.goal(block)} on the digits"
    return of_block(title, TRAINED, block, scales={"time": training_scale(block)})


def training_scale(block: types.ConvergenceBlock) -> Scale:
    """Return the unit for times to the target."""
    return tables.scale("time", [row.time_ns.value for row in block.rows if row.time_ns is not None], min)


def seeds(block: types.ConvergenceBlock, where: str) -> Table:
    """Return times and steps seed by seed."""
    scale = training_scale(block)

    def series(it: Trained) -> Cell:
        parts = (
            f"{units.digits(curve.reached.elapsed_ns / scale.factor)}, {curve.reached.step}"
            if curve.reached
            else "not there"
            for curve in it.row.curves
        )
        return Cell(" · ".join(parts) or units.NO_VALUE, tone="series")

    chosen: tuple[Column[Trained], ...] = (
        NAME,
        Column("Version", lambda it: it.row.version or units.NO_VALUE, numeric=False),
        Column("Seed by seed: time, steps", series, numeric=False),
        Column("Disturbed", lambda it: str(it.row.seeds_disturbed)),
        Column("Diverged", lambda it: str(it.row.seeds_diverged)),
    )
    title = f"Training time and steps of each seed until the target, {scale.unit}"
    return of_block(title, chosen, block, look="compact", label=f"seeds of {where}")


def driven(block: types.LoadGenBlock, among: Sequence[types.LoadGenBlock]) -> Table:
    title = f"{sentences.named(block, among)}, LoadGen {block.scenario}: {loadgen.what(block)}"
    return of_block(title, DRIVEN, block)


def loadgen_settings(block: types.LoadGenBlock, where: str) -> Table:
    """Return what was given to LoadGen beside what MLPerf's rules ask for."""
    guess = "a guess, from which LoadGen prepares enough queries; it decides nothing else"

    def meaning(name: str) -> Cell:
        return Cell(loadgen.MEANINGS.get(name, name.replace("_", " ")), why=guess if "expected" in name else "")

    def rule(name: str) -> str:
        known = name in block.rules and "expected" not in name
        return loadgen.written(name, block.rules[name]) if known else units.NO_VALUE

    chosen: tuple[Column[str], ...] = (
        Column("Setting", lambda name: Cell(name, tone="code"), numeric=False),
        Column("", meaning, numeric=False),
        Column("Here", lambda name: loadgen.written(name, block.settings[name])),
        Column("MLPerf’s rules", rule),
    )
    title = (
        f"What was given to LoadGen {block.version}, and what MLPerf’s rules ask for; all other settings are LoadGen’s "
        "own for the model"
    )
    return tables.make(
        title, chosen, list(block.settings), look="compact", label=f"settings of LoadGen, {where}", marks=_no_marks
    )


def _no_marks(_: object) -> Mapping[str, Any]:
    return {}


def offered_loads(block: types.LoadGenBlock, where: str) -> Table:
    """Return every rate at which LoadGen sent queries (Server)."""
    chosen: tuple[Column[tuple[types.ArmRow, types.LoadPoint]], ...] = (
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


def cold(block: types.ColdBlock, among: Sequence[types.ColdBlock]) -> Table:
    where = sentences.named(block, among)
    totals = [row.total_ns.value for row in block.rows if row.total_ns is not None]
    scale = tables.scale("time", totals)
    note = ": phases as medians over launches, the total as their geometric mean" if block is among[0] else ""
    title, label = f"Cold start of {where}, {scale.unit}{note}", f"cold start of {where}"
    return of_block(title, COLD, block, scales={"time": scale}, label=label, case=block.case)


def peak(block: types.MemoryBlock, among: Sequence[types.MemoryBlock]) -> Table:
    where = sentences.named(block, among)
    scale = tables.scale("bytes", [row.most_bytes for row in block.rows])
    note = ": median and range over launches" if block is among[0] else ""
    title, label = f"Peak resident memory of {where}{note}", f"peak memory of {where}"
    return of_block(title, PEAK, block, scales={"bytes": scale}, label=label, case=block.case)


def grid(title: str, blocks: Sequence[BlockType], value: Callable[[Any], str]) -> Table:
    """Return arms by models, with one value of each."""
    rows = {row.arm: row for block in blocks for row in block.rows}

    def column(block: BlockType) -> Column[types.ArmRow]:
        by_arm = {row.arm: row for row in block.rows}

        def cell(row: types.ArmRow) -> Cell:
            own = by_arm.get(row.arm)
            if own is None:
                return NONE
            mark = arm_cell(own).mark
            return Cell(f"{mark} {value(own)}" if own.standing == "unequal" else mark or value(own))

        return Column(lambda _: sentences.named(block, blocks), cell)

    chosen = (tables.ARM, *map(column, blocks))
    return tables.make(title, chosen, list(rows.values()), marks=lambda row: {"arm": row.arm, "backend": row.backend})


def question(case: Case) -> str:
    """`ResNet-50, throughput, batch 8`."""
    return f"{names.model(case.model)}, {names.scenario_title(case).lower()}, batch {case.batch}"


def tradeoff(found: Tradeoff) -> Table:
    """Return every arm in every precision, against itself in fp32 and against the reference."""
    case = found.case
    chosen: tuple[Column[Level], ...] = (
        Column("Arm", lambda level: _arm(level.row), numeric=False),
        Column("Precision", lambda level: level.precision, numeric=False),
        Column(
            "Items/s" if case.per_item else "Geometric mean",
            lambda level: sentences.cost(level.row, case),
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
        title, chosen, found.levels, marks=lambda it: tables.marks_of(it.row), label=f"precisions of {question(case)}"
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
        def speed_up(curve: Curve) -> str:
            return units.times(known.speed_up) if (known := curve.at(count)) else units.NO_VALUE

        def efficiency(curve: Curve) -> str:
            return units.share_with_interval(known.efficiency) if (known := curve.at(count)) else units.NO_VALUE

        cost: Column[Curve] = Column(
            units.plural(count, found.one, found.over),
            lambda curve: sentences.cost(known.row, case) if (known := curve.at(count)) else units.NO_VALUE,
            interval=f"95 % {IN_THESE_MINUTES}",
            only="page",
            wide=True,
        )
        if count == found.counts[0]:
            return [cost]
        return [
            cost,
            Column(lambda _: f"{count} against {found.counts[0]}", speed_up, only="text"),
            Column("Speed-up", speed_up, interval="95 %", only="page"),
            Column("Efficiency", efficiency, interval="95 %"),
        ]

    arm: Column[Curve] = Column("Arm", lambda curve: _arm(curve.points[-1].row), numeric=False)
    chosen = (arm, *(column for count in found.counts for column in point(count)))
    unit: Over = found.over
    title = (
        f"{question(case)}: {'items a second' if case.per_item else 'time'}, speed-up and efficiency by {unit}; "
        f"efficiency is the share of what the added {unit} could have given"
    )
    return tables.make(title, chosen, found.curves, label=f"{unit} of {question(case)}")
