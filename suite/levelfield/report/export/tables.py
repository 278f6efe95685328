"""From a record to rows of plain values: results, launches, windows or single calls, each with the case it is of.

Every row repeats what names it (run, case, arm), so that rows of many runs can stand in one table.
"""

import statistics
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any, TypeAlias

import msgspec

from levelfield.analysis import Analysis, collect
from levelfield.analysis.types import AnyRow, ColdRow, ConvergenceRow, Estimate, LoadGenRow, MemoryRow, Row
from levelfield.record.schema import Absent, Arm, Block, Case, Run, Window
from levelfield.record.states import State, judge, levels_of
from levelfield.report import columns
from levelfield.report.tables import Value
from levelfield.statistics.windows import quantiles_absent

Rows: TypeAlias = Iterator[dict[str, Value]]

RUN = ("run", "started", "model", "scenario", "precision", "batch", "threads", "processes", "device", "arm", "backend")
"""Columns that every table begins with."""
_FIRST: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "results": (
            *RUN, "version", "standing", "rank", "metric", "unit", "value", "low", "high", "p90_ns", "p99_ns",
            "cpu_cores", "launches", "calls", "relative_error", "equal", "behind_best", "behind_low", "behind_high",
            "behind_half_width", "best_is", "quantiles_absent", "windows_of", "contended_behind", "contended_low",
            "contended_high",
        ),
        "launches": (
            *RUN, "generation", "version", "started_launch", "start_ns", "import_ns", "load_ns", "first_call_ns",
            "peak_rss_bytes", "environment_padding_bytes", "relative_error", "equal", "failure", "cache_warm",
        ),
        "windows": (
            *RUN, "generation", "round", "turn", "disturbed", "state", "calls", "median_ns", "window_ns", "user_ns",
            "system_ns", "voluntary_switches", "involuntary_switches", "minor_faults", "major_faults",
        ),
        "calls": (*RUN, "generation", "round", "turn", "disturbed", "call", "call_ns"),
    }
)  # fmt: skip
"""Table to its columns, in the order in which files have always had them."""
TABLES = tuple(_FIRST)


def columns_of(table: str) -> tuple[str, ...]:
    """Return the columns of a table, in order: to results those of `report/columns.py` are added."""
    return tuple(dict.fromkeys((*_FIRST[table], *(columns.in_files() if table == "results" else ()))))


def rows(table: str, run: Run, analysis: Analysis) -> Rows:
    """Yield the rows of a table."""
    match table:
        case "results":
            return _results(run, analysis)
        case "launches":
            return _launches(run)
        case "windows":
            return _windows(run)
        case _:
            return _calls(run)


def _cells(table: str, *parts: Mapping[str, Any] | msgspec.Struct | None) -> dict[str, Value]:
    """Return a row: the columns of a table that its parts have, the later part first; what is absent is None."""
    found: dict[str, Any] = {}
    for part in parts:
        found |= msgspec.structs.asdict(part) if isinstance(part, msgspec.Struct) else part or {}
    named = (name for name in columns_of(table) if name in found)
    return {name: None if isinstance(found[name], Absent) else found[name] for name in named}


def _named(run: Run, case: Case, arm: Arm) -> dict[str, Value]:
    """Return what every table begins with: the run, the case and the arm."""
    return {
        "run": run.id,
        "started": run.started,
        **msgspec.structs.asdict(case),
        "arm": arm.id,
        "backend": arm.backend,
    }


def _results(run: Run, analysis: Analysis) -> Rows:
    for block, found in zip(run.blocks, analysis.blocks, strict=True):
        arms = {arm.id: arm for arm in block.arms}
        for row in found.rows:
            metric, unit, estimate = _estimate(row, block.case)
            derived: dict[str, Value] = {"metric": metric, "unit": unit, "launches": row.launches}
            if isinstance(row, Row):
                derived |= {
                    "calls": row.counts.calls,
                    "quantiles_absent": quantiles_absent(row.counts.calls) if row.call_ns is not None else "",
                }
            for column in columns.of_row(row):
                derived |= column.plain(columns.Result(row, found))
            yield _cells("results", row.parity, row, estimate, derived, _named(run, block.case, arms[row.arm]))


def _estimate(row: AnyRow, case: Case) -> tuple[str, str, Estimate | None]:
    match row:
        case Row():
            metric, unit = ("items per second", "items/s") if case.per_item else ("geometric mean call", "ns")
            return metric, unit, row.compared(case)
        case ConvergenceRow():
            return "time to accuracy", "ns", row.time_ns
        case LoadGenRow() if case.per_item:
            return f"LoadGen {case.definition.driven_as}", "items/s", row.per_second
        case LoadGenRow():
            return f"LoadGen {case.definition.driven_as}", "ns", row.value_ns
        case ColdRow():
            return "time to first answer", "ns", row.total_ns
        case MemoryRow():
            peak = None if row.peak_bytes is None else Estimate(row.peak_bytes, row.least_bytes, row.most_bytes)
            return "peak memory", "bytes", peak


def _launches(run: Run) -> Rows:
    for block, arms in _blocks(run):
        for generation, launch in collect.launches(block):
            if launch.arm not in arms:
                continue
            derived = {
                "generation": generation.index,
                "version": launch.framework_version,
                "started_launch": launch.started,
                "failure": launch.failure.message if launch.failure is not None else None,
            }
            named = _named(run, block.case, arms[launch.arm])
            yield _cells("launches", launch.startup, launch.memory, launch.parity, launch, derived, named)


def _windows(run: Run) -> Rows:
    for number, window, state, named in _turns(run):
        if window.samples_ns:
            derived = {
                "turn": number,
                "state": state,
                "calls": window.calls,
                "median_ns": statistics.median(window.samples_ns) / window.calls_per_sample,
            }
            yield _cells("windows", window, derived, named)


def _calls(run: Run) -> Rows:
    for turn, window, _, named in _turns(run):
        for number, call_ns in enumerate(window.samples_ns):
            each_ns = call_ns if window.calls_per_sample == 1 else call_ns / window.calls_per_sample
            yield named | {"turn": turn, "call": number, "call_ns": each_ns}


def _turns(run: Run) -> Iterator[tuple[int, Window, State | None, dict[str, Value]]]:
    """Yield every window with its turn's number in the round, the state of the machine, and what names it."""
    for block, arms in _blocks(run):
        levels = levels_of(block)
        for generation in block.generations:
            for round_ in generation.rounds:
                where = {"generation": generation.index, "round": round_.index, "disturbed": bool(round_.disturbed)}
                for number, turn in enumerate(round_.turns, start=1):
                    if turn.window is not None and turn.arm in arms:
                        judged = judge(turn, levels)
                        named = _named(run, block.case, arms[turn.arm]) | where
                        yield number, turn.window, judged.state if judged is not None else None, named


def _blocks(run: Run) -> Iterator[tuple[Block, dict[str, Arm]]]:
    """Yield every block with its arms; the canary has a row like any other."""
    for block in run.blocks:
        arms = {arm.id: arm for arm in block.arms}
        if block.canary is not None:
            arms[block.canary] = Arm(backend=block.canary, image=block.canary)
        yield block, arms
