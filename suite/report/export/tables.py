"""From a record to rows of plain values: results, launches, windows or single calls, each with the case it is of.

Every row repeats what names it (run, case, arm), so that rows of many runs can stand in one table.
"""

from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType
from typing import TypeAlias

from suite.analysis.types import (
    Analysis,
    AnyRow,
    ColdRow,
    ConvergenceBlock,
    ConvergenceRow,
    Estimate,
    MemoryRow,
    Row,
    TimedBlock,
)
from suite.record.schema import Absent, Arm, Block, Case, Generation, Run
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
            error = row.parity.relative_error if row.parity is not None else None
            plain = {
                "standing": row.standing,
                "metric": metric,
                "unit": unit,
                "value": estimate.value if estimate else None,
                "low": estimate.low if estimate else None,
                "high": estimate.high if estimate else None,
                "relative_error": None if isinstance(error, Absent) else error,
                "equal": row.parity.equal if row.parity is not None else None,
                "launches": row.counts.launches if isinstance(row, Row) else row.launches,
            }
            if isinstance(row, Row):
                plain |= {
                    "version": row.version,
                    "rank": row.rank,
                    "p90_ns": row.p90_ns,
                    "p99_ns": row.p99_ns,
                    "cpu_cores": row.cpu_cores,
                    "calls": row.counts.calls,
                    "quantiles_absent": quantiles_absent(row.counts.calls) if row.median_ns is not None else "",
                }
            if isinstance(row, ConvergenceRow):
                plain |= {"version": row.version, "rank": row.rank}
            if isinstance(found, TimedBlock | ConvergenceBlock) and isinstance(row, Row | ConvergenceRow):
                plain |= _behind(row, found)
            yield _named(run, block.case, arms[row.arm]) | plain


def _behind(row: Row | ConvergenceRow, block: TimedBlock | ConvergenceBlock) -> dict[str, Value]:
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
        case Row() if case.per_item:
            return "items per second", "items/s", row.items_per_second
        case Row():
            return "geometric mean call", "ns", row.median_ns
        case ConvergenceRow():
            return "time to accuracy", "ns", row.time_ns
        case ColdRow():
            return "time to first answer", "ns", row.total_ns
        case MemoryRow():
            peak = None if row.peak_bytes is None else Estimate(row.peak_bytes, row.least_bytes, row.most_bytes)
            return "peak memory", "bytes", peak


def _launches(run: Run, analysis: Analysis) -> Rows:
    del analysis
    for block, arms, generation in _generations(run):
        for launch in generation.launches:
            if launch.arm not in arms:
                continue
            startup, parity, memory = launch.startup, launch.parity, launch.memory
            error = parity.relative_error if parity is not None else None
            first = startup.first_call_ns if startup is not None else None
            peak = memory.peak_rss_bytes if memory is not None else None
            yield _named(run, block.case, arms[launch.arm]) | {
                "generation": generation.index,
                "version": launch.framework_version,
                "started_launch": launch.started,
                "start_ns": startup.start_ns if startup is not None else None,
                "import_ns": startup.import_ns if startup is not None else None,
                "load_ns": startup.load_ns if startup is not None else None,
                "first_call_ns": None if isinstance(first, Absent) else first,
                "peak_rss_bytes": None if isinstance(peak, Absent) else peak,
                "relative_error": None if isinstance(error, Absent) else error,
                "equal": parity.equal if parity is not None else None,
                "failure": launch.failure.message if launch.failure is not None else None,
            }


def _windows(run: Run, analysis: Analysis) -> Rows:
    del analysis
    for block, arms, generation in _generations(run):
        for each in generation.rounds:
            for place, turn in enumerate(each.turns, start=1):
                window = turn.window
                if window is None or turn.arm not in arms or not window.samples_ns:
                    continue
                samples = sorted(window.samples_ns)
                middle = len(samples) // 2
                yield _named(run, block.case, arms[turn.arm]) | {
                    "generation": generation.index,
                    "round": each.index,
                    "turn": place,
                    "disturbed": bool(each.disturbed),
                    "calls": len(samples),
                    "median_ns": (samples[middle] + samples[~middle]) / 2,
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
    for block, arms, generation in _generations(run):
        for each in generation.rounds:
            for turn in each.turns:
                if turn.window is None or turn.arm not in arms:
                    continue
                named = _named(run, block.case, arms[turn.arm]) | {
                    "generation": generation.index,
                    "round": each.index,
                    "disturbed": bool(each.disturbed),
                }
                for number, call_ns in enumerate(turn.window.samples_ns):
                    yield named | {"call": number, "call_ns": call_ns}


def _generations(run: Run) -> Iterator[tuple[Block, dict[str, Arm], Generation]]:
    """Yield every generation with its block's arms; the canary has a row like any other."""
    for block in run.blocks:
        arms = {arm.id: arm for arm in block.arms}
        if block.canary is not None:
            arms[block.canary] = Arm(backend=block.canary, image=block.canary)
        for generation in block.generations:
            yield block, arms, generation


_TABLES: Mapping[str, Callable[[Run, Analysis], Rows]] = MappingProxyType(
    {"results": _results, "launches": _launches, "windows": _windows, "calls": _calls}
)
