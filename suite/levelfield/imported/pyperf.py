"""pyperf's JSON: every run of a benchmark is a process of its own, with values of loops of calls.

References
----------
pyperf, documentation, "Metadata" and "JSON format": `values` are seconds of one iteration, the mean over
`loops` × `inner_loops`; runs without values are calibrations; metadata that all benchmarks share stand once.
"""

from typing import Final

import msgspec

from levelfield.imported import decoding
from levelfield.imported.types import NO_DATE, Recorded, Result, samples
from levelfield.safety.tool_output import text

TOOL: Final = "pyperf"
MARKS = (b'"perf_version"', b'"pyperf_version"')
_UNKNOWN = ("which commit was measured",)


class _Metadata(msgspec.Struct):
    name: str | None = None
    unit: str | None = None
    loops: int | None = None
    inner_loops: int | None = None
    date: str | None = None
    perf_version: str | None = None
    cpu_model_name: str | None = None
    cpu_count: int | None = None
    cpu_config: str | None = None
    aslr: str | None = None
    platform: str | None = None
    python_version: str | None = None
    python_implementation: str | None = None


class _Run(msgspec.Struct):
    values: list[float] = []
    metadata: _Metadata = msgspec.field(default_factory=_Metadata)


class _Benchmark(msgspec.Struct):
    runs: list[_Run]
    metadata: _Metadata = msgspec.field(default_factory=_Metadata)


class _Suite(msgspec.Struct):
    benchmarks: list[_Benchmark]
    metadata: _Metadata = msgspec.field(default_factory=_Metadata)


def parse(content: bytes) -> Recorded:
    """Read a file that pyperf wrote with `-o`.

    Raises LevelfieldError: it is no such file.
    """
    suite = decoding.decode(content, _Suite, TOOL)
    results: list[Result] = []
    left_out: list[str] = []
    dates: list[str] = []
    common = suite.metadata
    for number, benchmark in enumerate(suite.benchmarks, start=1):
        own = benchmark.metadata
        name = text(own.name or common.name or "") or f"benchmark {number}"
        unit = own.unit or common.unit or "second"
        if unit != "second":
            left_out.append(f"{name} (its unit is {text(unit)}, which is no time)")
            continue
        dates += [run.metadata.date for run in benchmark.runs if run.metadata.date]
        launches = tuple(samples(run.values, _calls(run.metadata, own, common)) for run in benchmark.runs)
        results.append(Result(name, tuple(filter(None, launches))))
    return Recorded(
        tool=TOOL,
        version=text(common.perf_version or "") or NO_DATE,
        results=tuple(results),
        started=decoding.moment(min(dates, default=common.date)),
        machine={
            "cpu": {"model": decoding.said(common.cpu_model_name), "cores": decoding.said(common.cpu_count)},
            "kernel": {"platform": decoding.said(common.platform), "address randomisation": decoding.said(common.aslr)},
            "python": {
                "version": decoding.said(common.python_version),
                "implementation": decoding.said(common.python_implementation),
            },
        },
        unknown=_UNKNOWN,
        left_out=tuple(left_out),
    )


def _calls(*metadata: _Metadata) -> int:
    """Return the calls of one value: the innermost metadata that have a number of loops count."""
    loops = next((each.loops for each in metadata if each.loops is not None), 1)
    return loops * next((each.inner_loops for each in metadata if each.inner_loops is not None), 1)
