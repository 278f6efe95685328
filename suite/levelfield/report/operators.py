"""Single operators side by side: one line for each, with every arm's time and how near its best comes to a ceiling."""

from collections.abc import Sequence

import msgspec

from levelfield.analysis import Analysis
from levelfield.analysis.types import CaseUse, Row, TimedBlock, Use
from levelfield.record.schema import Absent
from levelfield.report import names, units, xy_charts
from levelfield.report.tables import Cell, Column, Table, make
from levelfield.report.xy_charts import Plane

TITLE = "Operators"
LEAD = (
    "Geometric mean time of a call; in bold the arms that share the first rank. Beside them stands what share of a "
    "measured ceiling the fastest arm reaches: of arithmetic or of memory bandwidth, whichever is nearer. What fits "
    "into the last cache need not come from memory."
)


class Line(msgspec.Struct, frozen=True):
    """One operator."""

    block: TimedBlock
    name: str
    times: tuple[str, ...]
    """In the order of the arms; empty where an arm has none that is equal to the reference."""
    first: tuple[bool, ...]
    """Whether an arm has the first rank, in the same order."""
    fastest: str
    """The arms of the first rank with their times."""
    reached: str
    """What is computed or moved a second, and its share of a ceiling, in words; empty: not known."""
    error: str
    """Largest relative error of all arms that were compared; empty: none was."""


class OperatorTable(msgspec.Struct, frozen=True):
    """All operators of a run."""

    arms: tuple[tuple[str, str], ...]
    """Arm and backend, by name."""
    rooflines: tuple[tuple[int, Plane], ...]
    """Number of threads, and the chart of what was measured with so many."""
    lines: tuple[Line, ...]

    @property
    def table(self) -> Table:
        """One line for each operator: all times where there is room, else the arms of the first rank."""

        def time(number: int, arm: str) -> Column[Line]:
            def cell(line: Line) -> Cell:
                return Cell(line.times[number] or units.NO_VALUE, tone="enough" if line.first[number] else "")

            return Column(lambda _: arm, cell, wide=True)

        name: Column[Line] = Column("Operator", lambda line: line.name.replace(" × ", "\u00a0×\u00a0"), numeric=False)
        fastest: Column[Line] = Column("Fastest", lambda line: line.fastest, numeric=False, only="narrow")
        reached: Column[Line] = Column(
            "Fastest reaches", lambda line: line.reached or units.NO_VALUE, numeric=False, only="page"
        )
        error: Column[Line] = Column("Largest error", lambda line: line.error or units.NO_VALUE, only="page")
        times = (time(number, arm) for number, (arm, _) in enumerate(self.arms))
        title = "Time of a call, operator by operator"
        return make(
            title,
            (name, fastest, *times, reached, error),
            self.lines,
            label="operators",
            marks=lambda line: {"case": line.block.case},
        )


def is_one(block: TimedBlock) -> bool:
    """Return whether a block is of a single operator."""
    return block.case.definition.operators


def table(analysis: Analysis) -> OperatorTable | None:
    """Return all operators; None where none was measured."""
    blocks = [block for block in analysis.timed if is_one(block)]
    if not blocks:
        return None
    arms = tuple(sorted({(row.arm, row.backend) for block in blocks for row in block.rows}))
    uses = {use.case: use for use in analysis.insights.resources}
    lines = tuple(_line(block, [arm for arm, _ in arms], uses.get(block.case)) for block in blocks)
    by_threads: dict[int, list[CaseUse]] = {}
    for use in uses.values():
        if use.case.definition.operators and use.uses:
            by_threads.setdefault(use.case.threads, []).append(use)
    charts = ((threads, xy_charts.roofline(found)) for threads, found in by_threads.items())
    return OperatorTable(arms, tuple((threads, chart) for threads, chart in charts if chart is not None), lines)


def _line(block: TimedBlock, arms: Sequence[str], use: CaseUse | None) -> Line:
    rows = {row.arm: row for row in block.rows}
    times = {arm: time for arm in arms if (time := _time(rows.get(arm)))}
    first = [arm for arm in times if rows[arm].rank == 1]
    return Line(
        block=block,
        name=names.model(block.case.model),
        times=tuple(times.get(arm, "") for arm in arms),
        first=tuple(arm in first for arm in arms),
        fastest=", ".join(f"{arm} {times[arm]}" for arm in first) or "not ranked",
        reached=_reached(use) if use is not None and use.uses else "",
        error=_error(block),
    )


def _error(block: TimedBlock) -> str:
    parities = (row.parity for row in block.rows if row.parity is not None)
    errors = [each.relative_error for each in parities if not isinstance(each.relative_error, Absent)]
    return units.error(max(errors)) if errors else ""


def _time(row: Row | None) -> str:
    return units.time(row.call_ns.value) if row is not None and row.is_equal and row.call_ns is not None else ""


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
