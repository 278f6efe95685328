"""From a record to rows of plain values: results, launches, windows or single calls, each with the case it is of.

Every row repeats what names it (run, case, arm), so that rows of many runs can stand in one table.

Results as OpenMetrics text: for Prometheus, VictoriaMetrics and what else reads it, by a file that is scraped.

References
----------
https://prometheus.io/docs/specs/om/open_metrics_spec/ : names, units, escaping of labels, `# EOF`.
"""

import re
import statistics
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TypeAlias

import msgspec

from levelfield.analysis import Analysis, collect
from levelfield.analysis.summary import measure_of
from levelfield.analysis.types import AnyRow, Estimate, MemoryRow, Row, compared
from levelfield.errors import printable
from levelfield.record.schema import Absent, Arm, Block, Case, Run, Window
from levelfield.record.states import State, judge, levels_of
from levelfield.report import results
from levelfield.report.tables import Value
from levelfield.statistics.windows import quantiles_absent

if TYPE_CHECKING:
    from _typeshed import SupportsWrite


Rows: TypeAlias = Iterator[dict[str, Value]]

RUN = ("run", "started", "model", "scenario", "precision", "batch", "threads", "processes", "device", "arm", "backend")
"""Columns that every table begins with."""
TOKEN_BY_TOKEN = ("depth", "growing_cache")
"""Columns that every table ends with: what else names a case that answers token by token."""
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
    """Return the columns of a table, in order: to results those of `report/results.py` are added."""
    added = results.in_files() if table == "results" else ()
    return tuple(dict.fromkeys((*_FIRST[table], *added, *TOKEN_BY_TOKEN)))


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
            for column in results.of_row(row):
                derived |= column.plain(results.Result(row, found))
            yield _cells("results", row.parity, row, estimate, derived, _named(run, block.case, arms[row.arm]))


def _estimate(row: AnyRow, case: Case) -> tuple[str, str, Estimate | None]:
    metric, unit = measure_of(case)
    found, _ = compared(row, case)
    if isinstance(row, MemoryRow) and found is not None:
        found = Estimate(found.value, row.least_bytes, row.most_bytes)
    if case.definition.driven_as:
        return f"LoadGen {case.definition.driven_as}", unit, found
    return "geometric mean call" if metric == "median call" else metric, unit, found


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


_FORMULA = re.compile(r"""(\A|[;\t\r\n]"*)(?=[=+\-@\t\r\uff1d\uff0b\uff0d\uff20])""")
"""Where one may begin: a reader that splits at semicolons or tabs heeds no quote within what it takes for a cell."""
_QUOTED = re.compile(r'[,;\t"\r\n]')


def write_csv(stream: "SupportsWrite[str]", columns: Sequence[str], rows: Iterable[dict[str, Value]]) -> int:
    """Write rows as CSV with a header; an apostrophe goes before what a spreadsheet would take for a formula."""
    stream.write(f"{','.join(columns)}\n")
    count = 0
    for row in rows:
        values = (row.get(name) for name in columns)
        cells = (_cell(each) if isinstance(each, str) else "" if each is None else str(each) for each in values)
        stream.write(f"{','.join(cells)}\n")
        count += 1
    return count


@lru_cache
def _cell(text: str) -> str:
    marked = _FORMULA.sub(r"\1'", "\r".join(map(printable, text.split("\r"))))
    return '"{}"'.format(marked.replace('"', '""')) if _QUOTED.search(marked) else marked


_LABELS = ("run", "model", "scenario", "precision", "batch", "threads", "processes", "device", "arm", "version")
_FAMILIES = {
    "geometric mean call": ("call", "seconds", 1e-9, "Geometric mean of the time of a call."),
    "items per second": ("throughput", "items_per_second", 1.0, "Items in a second."),
    "time to accuracy": ("time_to_accuracy", "seconds", 1e-9, "Time of a training to its target accuracy."),
    "time to first answer": ("first_answer", "seconds", 1e-9, "Time from the start of a process to its first output."),
    "peak memory": ("peak_memory", "bytes", 1.0, "Peak memory of a worker."),
}
"""Metric of a row of results to its family, unit, the unit over that of the row, and help."""
_BOUNDS = (("value", ""), ("low", "_low"), ("high", "_high"))
"""Column to what its family's name has before the unit: an interval is three gauges."""


def write(rows: Iterable[dict[str, Value]]) -> Iterator[str]:
    """Yield the lines of an exposition, without their line ends."""
    found = list(rows)
    for metric, (name, unit, scale, text) in _FAMILIES.items():
        own = [row for row in found if row.get("metric") == metric]
        for column, bound in _BOUNDS:
            what = text if not bound else f"{text} {'Lower' if column == 'low' else 'Upper'} end of the 95 % interval."
            samples = [(row, number * scale) for row in own if isinstance(number := row.get(column), int | float)]
            yield from _family(f"levelfield_{name}{bound}_{unit}", unit, what, samples)
    equal = [(row, float(value)) for row in found if isinstance(value := row.get("equal"), bool)]
    yield from _family("levelfield_output_equal", "", "Whether outputs are equal to the reference: 1 or 0.", equal)
    yield "# EOF"


def _family(name: str, unit: str, text: str, samples: list[tuple[dict[str, Value], float]]) -> Iterator[str]:
    if not samples:
        return
    yield f"# TYPE {name} gauge"
    if unit:
        yield f"# UNIT {name} {unit}"
    yield f"# HELP {name} {text}"
    for row, value in samples:
        named = (*_LABELS, *(TOKEN_BY_TOKEN if row.get("depth") else ()))
        labels = ",".join(f'{label}="{_escaped(row[label])}"' for label in named if row.get(label) is not None)
        yield f"{name}{{{labels}}} {value!r}"


def _escaped(value: Value) -> str:
    return printable(str(value)).replace("\\", "\\\\").replace("\n", "\\n").replace('"', '\\"')
