"""Google Benchmark's JSON: one process, and each repetition is the mean over its iterations.

References
----------
Google Benchmark, `docs/user_guide.md`, "Output Formats", and `src/json_reporter.cc`: `real_time` in `time_unit` is that
of an iteration; lines with `run_type` `aggregate` follow from the others; `error_occurred` or `skipped` is no time.
"""

from typing import Final

import msgspec

from levelfield.imported import decoding
from levelfield.imported.types import NO_DATE, Recorded, Result, Timed, seconds
from levelfield.safety.tool_output import refused, text

TOOL: Final = "Google Benchmark"
MARKS = (b'"library_build_type"',)
_UNITS = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0}
_UNKNOWN = ("the processor's name", "which commit was measured", "single calls: each repetition is a mean")


class _Context(msgspec.Struct):
    date: str | None = None
    num_cpus: int | None = None
    mhz_per_cpu: float | None = None
    cpu_scaling_enabled: bool | None = None
    library_version: str | None = None
    library_build_type: str | None = None


class _Line(msgspec.Struct):
    name: str
    run_name: str | None = None
    run_type: str = "iteration"
    aggregate_name: str | None = None
    iterations: int | None = None
    real_time: float | None = None
    time_unit: str = "ns"
    error_occurred: bool = False
    error_message: str = ""
    skipped: bool = False
    skip_message: str = ""


class _Report(msgspec.Struct):
    context: _Context
    benchmarks: list[_Line]


def parse(content: bytes) -> Recorded:
    """Read a file that a benchmark wrote with `--benchmark_out` and `--benchmark_out_format=json`.

    Raises LevelfieldError: it is no such file, or a unit of time is none that Google Benchmark has.
    """
    report = decoding.decode(content, _Report, TOOL)
    found: dict[str, list[Timed]] = {}
    failures: dict[str, str] = {}
    aggregates: set[str] = set()
    for line in report.benchmarks:
        name = text(line.run_name or line.name) or "a benchmark without a name"
        if line.error_occurred or line.skipped:
            found.setdefault(name, [])
            failures[name] = text(line.error_message or line.skip_message) or "it says that it failed"
        elif line.run_type != "iteration" or line.aggregate_name:
            aggregates.add(name)
        else:
            repetitions = found.setdefault(name, [])
            sample = seconds((line.real_time or 0) * _unit_s(line.time_unit), line.iterations or 1)
            repetitions += [sample] if sample is not None else []
    return Recorded(
        tool=TOOL,
        version=text(report.context.library_version or "") or NO_DATE,
        results=tuple(
            Result(name, (tuple(repetitions),) if repetitions else (), failure=failures.get(name, ""))
            for name, repetitions in found.items()
        ),
        started=decoding.moment(report.context.date),
        machine={
            "cpu": {
                "cores": decoding.said(report.context.num_cpus),
                "MHz": decoding.said(report.context.mhz_per_cpu),
                "frequency scaling": decoding.said(report.context.cpu_scaling_enabled),
            },
            "library": {"build": decoding.said(report.context.library_build_type)},
        },
        unknown=_UNKNOWN,
        left_out=tuple(
            f"{name} (only aggregates were written: run it without --benchmark_report_aggregates_only)"
            for name in sorted(aggregates - found.keys())
        ),
    )


def _unit_s(unit: str) -> float:
    if unit not in _UNITS:
        raise refused(TOOL, f"its unit of time is {unit}")
    return _UNITS[unit]
