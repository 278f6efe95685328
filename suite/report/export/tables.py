"""From a record to rows of plain values: results, launches, windows or single calls, each with the case it is of.

Every row repeats what names it (run, case, arm), so that rows of many runs can stand in one table.
"""

import statistics
from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType
from typing import TypeAlias

from suite.analysis import collect
from suite.analysis.types import (
    Analysis,
    AnyRow,
    ColdRow,
    ConvergenceRow,
    Estimate,
    MemoryRow,
    RankedBlock,
    RankedRow,
    Row,
)
from suite.record.schema import Absent, Arm, Block, Case, Run, Window
from suite.report import separation
from suite.statistics.windows import quantiles_absent

Value: TypeAlias = str | int | float | bool | None
Rows: TypeAlias = Iterator[dict[str, Value]]


def rows(table: str, run: Run, analysis: Analysis) -> Rows:
    """Yield the rows of a table.

    Parameters
    ----------
    table
        One of `suite.report.export.columns.COLUMNS`.
    run, analysis
        A record, and what follows from it.
    """
    return _TABLES[table](run, analysis)


def _named(run: Run, case: Case, arm: Arm) -> dict[str, Value]:
    return {
        "run": run.id,
        "started": run.started,
        "model": case.model,
        "scenario": case.scenario,
        "precision": case.precision,
        "batch": case.batch,
        "threads": case.threads,
        "processes": case.processes,
        "device": case.device,
        "arm": arm.id,
        "backend": arm.backend,
    }


def _results(run: Run, analysis: Analysis) -> Rows:
    for block, found in zip(run.blocks, analysis.blocks, strict=True):
        arms = {arm.id: arm for arm in block.arms}
        for row in found.rows:
            metric, unit, estimate = _estimate(row, block.case)
            plain = {
                "standing": row.standing,
                "metric": metric,
                "unit": unit,
                "value": estimate.value if estimate else None,
                "low": estimate.low if estimate else None,
                "high": estimate.high if estimate else None,
                "relative_error": _known(row.parity.relative_error) if row.parity is not None else None,
                "equal": row.parity.equal if row.parity is not None else None,
                "launches": row.launches,
            }
            if isinstance(row, Row):
                plain |= {
                    "p90_ns": row.p90_ns,
                    "p99_ns": row.p99_ns,
                    "cpu_cores": row.cpu_cores,
                    "calls": row.counts.calls,
                    "quantiles_absent": quantiles_absent(row.counts.calls) if row.median_ns is not None else "",
                }
            if isinstance(found, RankedBlock) and isinstance(row, RankedRow):
                plain |= {"version": row.version, "rank": row.rank} | _behind(row, found)
            yield _named(run, block.case, arms[row.arm]) | plain


def _behind(row: RankedRow, block: RankedBlock) -> dict[str, Value]:
    """Return the ratio to the best, less one, with its interval, and how that is called; nothing where not ranked."""
    ratio = row.ratio
    if ratio is None:
        return {}
    return {
        "behind_best": ratio.value - 1,
        "behind_low": None if ratio.low is None else ratio.low - 1,
        "behind_high": None if ratio.high is None else ratio.high - 1,
        "best_is": separation.best_is(row, block),
    }


def _estimate(row: AnyRow, case: Case) -> tuple[str, str, Estimate | None]:
    match row:
        case Row():
            metric, unit = ("items per second", "items/s") if case.per_item else ("geometric mean call", "ns")
            return metric, unit, row.compared(case)
        case ConvergenceRow():
            return "time to accuracy", "ns", row.time_ns
        case ColdRow():
            return "time to first answer", "ns", row.total_ns
        case MemoryRow():
            peak = None if row.peak_bytes is None else Estimate(row.peak_bytes, row.least_bytes, row.most_bytes)
            return "peak memory", "bytes", peak


def _launches(run: Run, analysis: Analysis) -> Rows:
    del analysis
    for block, arms in _blocks(run):
        for generation, launch in collect.launches(block):
            if launch.arm not in arms:
                continue
            startup, parity, memory = launch.startup, launch.parity, launch.memory
            yield _named(run, block.case, arms[launch.arm]) | {
                "generation": generation.index,
                "version": launch.framework_version,
                "started_launch": launch.started,
                "start_ns": startup.start_ns if startup is not None else None,
                "import_ns": startup.import_ns if startup is not None else None,
                "load_ns": startup.load_ns if startup is not None else None,
                "first_call_ns": _known(startup.first_call_ns) if startup is not None else None,
                "peak_rss_bytes": _known(memory.peak_rss_bytes) if memory is not None else None,
                "environment_padding_bytes": launch.environment_padding_bytes,
                "relative_error": _known(parity.relative_error) if parity is not None else None,
                "equal": parity.equal if parity is not None else None,
                "failure": launch.failure.message if launch.failure is not None else None,
                "cache_warm": launch.cache_warm,
            }


def _known(value: float | Absent) -> float | None:
    return None if isinstance(value, Absent) else value


def _windows(run: Run, analysis: Analysis) -> Rows:
    del analysis
    for place, window, named in _turns(run):
        if not window.samples_ns:
            continue
        yield named | {
            "turn": place,
            "calls": len(window.samples_ns),
            "median_ns": float(statistics.median(window.samples_ns)),
            "window_ns": window.window_ns,
            "user_ns": window.user_ns,
            "system_ns": window.system_ns,
            "voluntary_switches": window.voluntary_switches,
            "involuntary_switches": window.involuntary_switches,
            "minor_faults": window.minor_faults,
            "major_faults": window.major_faults,
        }


def _calls(run: Run, analysis: Analysis) -> Rows:
    del analysis
    for _, window, named in _turns(run):
        for number, call_ns in enumerate(window.samples_ns):
            yield named | {"call": number, "call_ns": call_ns}


def _turns(run: Run) -> Iterator[tuple[int, Window, dict[str, Value]]]:
    """Yield every window with its turn's number in the round, and what names it."""
    for block, arms in _blocks(run):
        for generation in block.generations:
            for round_ in generation.rounds:
                for place, turn in enumerate(round_.turns, start=1):
                    if turn.window is not None and turn.arm in arms:
                        yield (
                            place,
                            turn.window,
                            _named(run, block.case, arms[turn.arm])
                            | {
                                "generation": generation.index,
                                "round": round_.index,
                                "disturbed": bool(round_.disturbed),
                            },
                        )


def _blocks(run: Run) -> Iterator[tuple[Block, dict[str, Arm]]]:
    """Yield every block with its arms; the canary has a row like any other."""
    for block in run.blocks:
        arms = {arm.id: arm for arm in block.arms}
        if block.canary is not None:
            arms[block.canary] = Arm(backend=block.canary, image=block.canary)
        yield block, arms


_TABLES: Mapping[str, Callable[[Run, Analysis], Rows]] = MappingProxyType(
    {"results": _results, "launches": _launches, "windows": _windows, "calls": _calls}
)
