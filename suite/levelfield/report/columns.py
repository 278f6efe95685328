"""Columns of results: rank, arm, distance to the best, time or rate, p90, p99 … A new column is one entry here.

It is then on the page, in the terminal and in Markdown, and where it has a name for files, in CSV.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Generic, TypeVar

from levelfield.analysis.types import (
    ArmRow,
    ColdBlock,
    ColdRow,
    ConvergenceBlock,
    ConvergenceRow,
    Estimate,
    LoadGenBlock,
    LoadGenRow,
    MemoryBlock,
    MemoryRow,
    RankedBlock,
    RankedRow,
    Row,
    TimedBlock,
)
from levelfield.report import loadgen, parity, sentences, separation, states, units
from levelfield.report.separation import IN_THESE_MINUTES
from levelfield.report.tables import ARM, NONE, Cell, Column

RowType = TypeVar("RowType", bound=ArmRow)
BlockType = TypeVar("BlockType")


@dataclass(frozen=True)
class Result(Generic[RowType, BlockType]):
    """A row of analysis, and the block that it is of."""

    row: RowType
    block: BlockType


Ranked = Result[Any, Any]
Timed = Result[Row, TimedBlock]
Trained = Result[ConvergenceRow, ConvergenceBlock]
Driven = Result[LoadGenRow, LoadGenBlock]
Cold = Result[ColdRow, ColdBlock]
Peak = Result[MemoryRow, MemoryBlock]

_MARKS = {"unequal": "not equal", "failed": "failed", "absent": "absent", "control": "control"}


def arm_cell(row: ArmRow, why: str = "") -> Cell:
    """Return the cell of an arm that may lack a rank; `why` stands below its name on the page."""
    return Cell(row.arm, mark=_MARKS.get(row.standing, ""), why=why, backend=row.backend)


def _unranked(it: Ranked) -> Cell:
    return arm_cell(it.row, it.row.reason if it.row.reason != it.block.unranked_reason else "")


def _standing(it: Result[Any, Any]) -> Cell:
    return arm_cell(it.row, it.row.reason if it.row.standing != "shown" else "")


def _behind(it: Ranked) -> Cell:
    row: RankedRow = it.row
    block: RankedBlock = it.block
    if row.ratio is None:
        return NONE
    if row.arm == block.best:
        return Cell("best", tone="best")
    text, interval = units.behind(row.ratio)
    return Cell(text, interval, under=separation.best_is(row, block) if interval and row.verdict != "slower" else "")


def less_one(ratio: Estimate | None) -> Estimate | None:
    """Return a ratio of costs as what it is more than the best."""
    if ratio is None:
        return None
    low, high = (None if bound is None else bound - 1 for bound in (ratio.low, ratio.high))
    return Estimate(ratio.value - 1, low, high)


def _per_item(rows: Sequence[Timed]) -> bool:
    return bool(rows) and rows[0].block.case.per_item


def _trains(rows: Sequence[Timed]) -> bool:
    return bool(rows) and rows[0].block.case.trains


def _disturbed(rows: Sequence[Timed]) -> bool:
    return bool(rows) and bool(rows[0].block.rounds_disturbed)


def _single_stream(rows: Sequence[Driven]) -> bool:
    return bool(rows) and rows[0].block.scenario == "SingleStream"


def _share(value: float | None) -> str:
    return units.NO_VALUE if value is None else units.accuracy(value)


def _has_quantiles(rows: Sequence[Timed]) -> bool:
    return _trains(rows) or not _per_item(rows)


RANK: Column[Ranked] = Column("Rank", lambda it: it.row.rank, files=("rank",))
BEHIND: Column[Ranked] = Column(
    "Behind the best",
    _behind,
    interval="95 %",
    files=("behind_best", "behind_low", "behind_high"),
    exact=lambda it: less_one(it.row.ratio),
)
HALF_WIDTH: Column[Ranked] = Column(
    "Half-width",
    lambda it: None if it.row.half_width is None or it.row.ratio is None else math.expm1(it.row.half_width),
    files=("behind_half_width",),
    only="files",
)
BEST_IS: Column[Ranked] = Column(
    "Best is",
    lambda it: None if it.row.ratio is None else separation.best_is(it.row, it.block),
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
TIMED: tuple[Column[Timed], ...] = (
    RANK,
    Column("Arm", _standing, numeric=False),
    BEHIND,
    HALF_WIDTH,
    Column(
        "When a neighbour is busy",
        lambda it: states.contended(it.row) or None,
        interval="95 %",
        files=("contended_behind", "contended_low", "contended_high"),
        exact=lambda it: less_one(it.row.contended),
        where=lambda rows: any(it.row.contended is not None for it in rows),
    ),
    Column(
        lambda rows: rows[0].block.case.rate_unit,
        lambda it: it.row.items_per_second,
        "rate",
        interval="95 %",
        where=_per_item,
    ),
    Column(
        "Geometric mean", lambda it: it.row.call_ns, "time", interval="95 %", where=lambda rows: not _per_item(rows)
    ),
    Column("Geometric mean", lambda it: it.row.call_ns, "time", interval="95 %", where=_per_item, wide=True),
    Column("p90", lambda it: it.row.p90_ns, "time", files=("p90_ns",), where=_has_quantiles, wide=True),
    Column("p99", lambda it: it.row.p99_ns, "time", files=("p99_ns",), where=_has_quantiles, wide=True),
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
        lambda rows: f"{rows[0].block.case.rate_unit} with all rounds",
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
        lambda it: loadgen.cost(it.row),
        interval=f"95 % {IN_THESE_MINUTES}",
    ),
    BEHIND,
    HALF_WIDTH,
    Column(
        "Levelfield’s own",
        lambda it: units.time(it.row.own_p90_ns),
        small="same workers, same minutes",
        where=_single_stream,
        wide=True,
    ),
    Column(
        "LoadGen’s over it",
        lambda it: units.times(it.row.against_own),
        interval="95 %",
        where=_single_stream,
        wide=True,
    ),
    Column("LoadGen says", lambda it: Cell(loadgen.validity(it.row), why="; ".join(it.row.why_invalid)), numeric=False),
    BEST_IS,
)
"""Of cases that MLPerf LoadGen drove."""
COLD: tuple[Column[Cold], ...] = (
    Column("Arm", _standing, numeric=False),
    Column("Start", lambda it: it.row.start_ns, "time", wide=True),
    Column("Import", lambda it: it.row.import_ns, "time", wide=True),
    Column("Load and compile", lambda it: it.row.load_ns, "time", wide=True),
    Column("First call", lambda it: it.row.first_call_ns, "time", wide=True),
    Column("Total", lambda it: it.row.total_ns, "time", interval="95 %"),
    Column("Launches", lambda it: str(it.row.launches), wide=True),
)
"""From nothing to the first answer."""
PEAK: tuple[Column[Peak], ...] = (
    Column("Arm", _standing, numeric=False),
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


def of_row(row: ArmRow) -> tuple[Column[Any], ...]:
    """Return the columns of rows of this kind."""
    match row:
        case Row():
            return TIMED
        case ConvergenceRow():
            return TRAINED
        case LoadGenRow():
            return DRIVEN
        case ColdRow():
            return COLD
        case _:
            return PEAK


def in_files() -> tuple[str, ...]:
    """Return the names that columns of results have in files, each once."""
    every: tuple[Column[Any], ...] = (*TIMED, *TRAINED, *DRIVEN, *COLD, *PEAK)
    return tuple(dict.fromkeys(name for column in every for name in column.files))
