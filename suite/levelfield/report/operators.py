"""Single operators side by side: one line for each, with every arm's time and how near its best comes to a ceiling."""

from collections.abc import Mapping, Sequence

import msgspec

from levelfield.analysis import Analysis
from levelfield.analysis.types import CaseUse, Row, TimedBlock, Use
from levelfield.record.schema import Absent, Case
from levelfield.report import names, units, xy_charts
from levelfield.report.tables import Cell, Column, Table, make
from levelfield.report.xy_charts import Plane

TITLE = "Operators"
LEAD = (
    "Geometric mean time of a call; in bold the arms that share the first rank. Beside them stands what share of a "
    "measured ceiling the fastest arm reaches: of arithmetic or of memory bandwidth, whichever is nearer. What fits "
    "into the last cache need not come from memory."
)


class OperatorTable(msgspec.Struct, frozen=True):
    table: Table
    """One line for each operator: all times where there is room, else the arms of the first rank."""
    rooflines: tuple[tuple[int, Plane], ...]
    """Number of threads, and the chart of what was measured with so many."""


def is_one(block: TimedBlock) -> bool:
    return block.case.definition.operators


def table(analysis: Analysis) -> OperatorTable | None:
    blocks = [block for block in analysis.timed if is_one(block)]
    if not blocks:
        return None
    uses = {use.case: use for use in analysis.insights.resources}
    by_threads: dict[int, list[CaseUse]] = {}
    for use in uses.values():
        if use.case.definition.operators and use.uses:
            by_threads.setdefault(use.case.threads, []).append(use)
    charts = ((threads, xy_charts.roofline(found)) for threads, found in by_threads.items())
    return OperatorTable(_table(blocks, uses), tuple((count, chart) for count, chart in charts if chart is not None))


def _table(blocks: Sequence[TimedBlock], uses: Mapping[Case, CaseUse]) -> Table:
    def name(block: TimedBlock) -> str:
        return names.model(block.case.model).replace(" × ", "\u00a0×\u00a0")

    def fastest(block: TimedBlock) -> str:
        return ", ".join(f"{row.arm} {_time(row)}" for row in block.rows if row.rank == 1) or "not ranked"

    def time(arm: str) -> Column[TimedBlock]:
        def cell(block: TimedBlock) -> Cell:
            row = next((row for row in block.rows if row.arm == arm), None)
            written = _time(row) if row is not None else units.NO_VALUE
            return Cell(written, tone="enough" if row is not None and row.rank == 1 else "")

        return Column(lambda _: arm, cell, wide=True)

    def reached(block: TimedBlock) -> str:
        use = uses.get(block.case)
        return _reached(use) if use is not None and use.uses else units.NO_VALUE

    columns: tuple[Column[TimedBlock], ...] = (
        Column("Operator", name, numeric=False),
        Column("Fastest", fastest, numeric=False, only="narrow"),
        *map(time, sorted({row.arm for block in blocks for row in block.rows})),
        Column("Fastest reaches", reached, numeric=False, only="page"),
        Column("Largest error", _error, only="page"),
    )
    title = "Time of a call, operator by operator"
    return make(title, columns, blocks, label="operators", marks=lambda block: {"case": block.case})


def _error(block: TimedBlock) -> str:
    parities = (row.parity for row in block.rows if row.parity is not None)
    errors = [each.relative_error for each in parities if not isinstance(each.relative_error, Absent)]
    return units.error(max(errors)) if errors else units.NO_VALUE


def _time(row: Row) -> str:
    return units.time(row.call_ns.value) if row.is_equal and row.call_ns is not None else units.NO_VALUE


def _reached(use: CaseUse) -> str:
    best = min(use.uses, key=lambda each: each.call_ns.value)
    return f"{best.arm}: {_rate(best, use)}, {_nearer(best, use)}"


def _rate(best: Use, use: CaseUse) -> str:
    """`61 GFLOP/s`; of what does no arithmetic, `12 GB/s`, from a cache or not."""
    if use.work.macs:
        return units.amount(best.flops_per_s.value, "FLOP/s")
    return units.amount(_moved_per_s(best, use), "B/s")


def _moved_per_s(best: Use, use: CaseUse) -> float:
    return 1e9 * (use.work.weight_bytes + use.work.activation_bytes) / best.call_ns.value


def _nearer(best: Use, use: CaseUse) -> str:
    """`85 % of the arithmetic`, `40 % of the bandwidth`: of whichever ceiling is nearer."""
    if not use.work.macs:
        share = _moved_per_s(best, use) / use.ceilings.bytes.per_s
        return f"{units.percent(share)} of the bandwidth{' of memory, from the cache' if use.fits_cache else ''}"
    memory = best.memory_share.value if best.memory_share is not None else 0.0
    if memory > best.compute_share.value:
        return f"{units.percent(memory)} of the bandwidth"
    return f"{units.percent(best.compute_share.value)} of the arithmetic"
