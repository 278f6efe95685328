"""Tools that write JSON: pyperf, hyperfine, Google Benchmark, pytest-benchmark and optimum-benchmark.

References
----------
pyperf, documentation, "Metadata" and "JSON format": `values` are seconds of one iteration, the mean over
`loops` × `inner_loops`; runs without values are calibrations; metadata that all benchmarks share stand once.

hyperfine, `src/benchmark/benchmark_result.rs`: `times` in seconds of wall-clock time, `exit_codes` beside them.

Google Benchmark, `docs/user_guide.md`, "Output Formats", and `src/json_reporter.cc`: `real_time` in `time_unit` is that
of an iteration; lines with `run_type` `aggregate` follow from the others; `error_occurred` or `skipped` is no time.

pytest-benchmark, documentation, "Usage" (`--benchmark-json`, `--benchmark-save-data`): `stats.data` has the seconds of
a call in every round, where it was asked for; else only statistics of them are there.

optimum-benchmark, `trackers/latency.py`: `values` in seconds; `throughput` follows from their mean and the batch size,
which stands in the configuration.
"""

import msgspec

from levelfield.terminals import refused, tool_text
from levelfield_readers.recorded import (
    NOT_SAID,
    Reader,
    Recorded,
    Result,
    Timed,
    decode,
    fact,
    moment,
    samples,
    seconds,
)


class _PyperfMetadata(msgspec.Struct, forbid_unknown_fields=False):
    name: str | None = None
    unit: str | None = None
    loops: int | None = None
    inner_loops: int | None = None
    date: str | None = None
    perf_version: str | None = None
    cpu_model_name: str | None = None
    cpu_count: int | None = None
    aslr: str | None = None
    platform: str | None = None
    python_version: str | None = None
    python_implementation: str | None = None


class _PyperfRun(msgspec.Struct, forbid_unknown_fields=False):
    values: list[float] = []
    metadata: _PyperfMetadata = msgspec.field(default_factory=_PyperfMetadata)


class _PyperfBenchmark(msgspec.Struct, forbid_unknown_fields=False):
    runs: list[_PyperfRun]
    metadata: _PyperfMetadata = msgspec.field(default_factory=_PyperfMetadata)


class _PyperfSuite(msgspec.Struct, forbid_unknown_fields=False):
    benchmarks: list[_PyperfBenchmark]
    metadata: _PyperfMetadata = msgspec.field(default_factory=_PyperfMetadata)


def pyperf(content: bytes) -> Recorded:
    """Read a file that pyperf wrote with `-o`: every run of a benchmark is a process, with values of loops of calls."""
    suite = decode(content, _PyperfSuite, "pyperf")
    results: list[Result] = []
    left_out: list[str] = []
    dates: list[str] = []
    common = suite.metadata
    for number, benchmark in enumerate(suite.benchmarks, start=1):
        own = benchmark.metadata
        name = tool_text(own.name or common.name or "") or f"benchmark {number}"
        unit = own.unit or common.unit or "second"
        if unit != "second":
            left_out.append(f"{name} (its unit is {tool_text(unit)}, which is no time)")
            continue
        dates += [run.metadata.date for run in benchmark.runs if run.metadata.date]
        launches = tuple(samples(run.values, _calls(run.metadata, own, common)) for run in benchmark.runs)
        results.append(Result(name, tuple(filter(None, launches))))
    return Recorded(
        tool="pyperf",
        version=tool_text(common.perf_version or "") or NOT_SAID,
        results=tuple(results),
        started=moment(min(dates, default=common.date)),
        machine={
            "cpu": {"model": fact(common.cpu_model_name), "cores": fact(common.cpu_count)},
            "kernel": {"platform": fact(common.platform), "address randomisation": fact(common.aslr)},
            "python": {
                "version": fact(common.python_version),
                "implementation": fact(common.python_implementation),
            },
        },
        unknown=("which commit was measured",),
        left_out=tuple(left_out),
    )


def _calls(*metadata: _PyperfMetadata) -> int:
    """Return the calls of one value: the innermost metadata that have a number of loops count."""
    loops = next((one.loops for one in metadata if one.loops is not None), 1)
    inner_loops = next((one.inner_loops for one in metadata if one.inner_loops is not None), 1)
    if min(loops, inner_loops) < 1:
        raise refused("pyperf", f"a value is of {loops} × {inner_loops} loops")
    return loops * inner_loops


class _HyperfineResult(msgspec.Struct, forbid_unknown_fields=False):
    command: str
    times: list[float] | None = None
    exit_codes: list[int | None] = []


class _HyperfineExport(msgspec.Struct, forbid_unknown_fields=False):
    results: list[_HyperfineResult]


def hyperfine(content: bytes) -> Recorded:
    """Read a file of hyperfine's `--export-json`: every timed run of a command is a process."""
    return Recorded(
        tool="hyperfine",
        version=NOT_SAID,
        results=tuple(
            Result(
                tool_text(result.command) or "a command without a name",
                tuple((sample,) for sample in samples(result.times or ())),
                failure=""
                if all(code == 0 for code in result.exit_codes)
                else "it ended with another exit code than 0",
            )
            for result in decode(content, _HyperfineExport, "hyperfine").results
        ),
        unknown=(
            "the machine, the version of hyperfine and when it ran",
            "whether a shell was started with the command",
        ),
    )


class _GoogleContext(msgspec.Struct, forbid_unknown_fields=False):
    date: str | None = None
    num_cpus: int | None = None
    mhz_per_cpu: float | None = None
    cpu_scaling_enabled: bool | None = None
    library_version: str | None = None
    library_build_type: str | None = None


class _GoogleLine(msgspec.Struct, forbid_unknown_fields=False):
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


class _GoogleReport(msgspec.Struct, forbid_unknown_fields=False):
    context: _GoogleContext
    benchmarks: list[_GoogleLine]


def google_benchmark(content: bytes) -> Recorded:
    """Read a file of `--benchmark_out_format=json`: one process; each repetition is the mean over its iterations."""
    report = decode(content, _GoogleReport, "Google Benchmark")
    units = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0}
    launches: dict[str, list[Timed]] = {}
    failures: dict[str, str] = {}
    aggregates: set[str] = set()
    for line in report.benchmarks:
        name = tool_text(line.run_name or line.name) or "a benchmark without a name"
        if line.error_occurred or line.skipped:
            launches.setdefault(name, [])
            failures[name] = tool_text(line.error_message or line.skip_message) or "it says that it failed"
        elif line.run_type != "iteration" or line.aggregate_name:
            aggregates.add(name)
        elif line.time_unit not in units:
            raise refused("Google Benchmark", f"its unit of time is {line.time_unit}")
        else:
            sample = seconds((line.real_time or 0) * units[line.time_unit], line.iterations or 1)
            launches.setdefault(name, []).extend([sample] if sample is not None else [])
    context = report.context
    return Recorded(
        tool="Google Benchmark",
        version=tool_text(context.library_version or "") or NOT_SAID,
        results=tuple(
            Result(name, (tuple(repetitions),) if repetitions else (), failure=failures.get(name, ""))
            for name, repetitions in launches.items()
        ),
        started=moment(context.date),
        machine={
            "cpu": {
                "cores": fact(context.num_cpus),
                "MHz": fact(context.mhz_per_cpu),
                "frequency scaling": fact(context.cpu_scaling_enabled),
            },
            "library": {"build": fact(context.library_build_type)},
        },
        unknown=("the processor's name", "which commit was measured", "single calls: each repetition is a mean"),
        left_out=tuple(
            f"{name} (only aggregates were written: run it without --benchmark_report_aggregates_only)"
            for name in sorted(aggregates - launches.keys())
        ),
    )


class _PytestCpu(msgspec.Struct, forbid_unknown_fields=False):
    brand_raw: str | None = None
    vendor_id_raw: str | None = None
    count: int | None = None
    family: int | None = None
    model: int | None = None
    stepping: int | None = None


class _PytestMachine(msgspec.Struct, forbid_unknown_fields=False):
    cpu: _PytestCpu = msgspec.field(default_factory=_PytestCpu)
    system: str | None = None
    release: str | None = None
    python_version: str | None = None
    python_implementation: str | None = None


class _PytestCommit(msgspec.Struct, forbid_unknown_fields=False):
    id: str | None = None
    dirty: bool | None = None


class _PytestStats(msgspec.Struct, forbid_unknown_fields=False):
    median: float
    iterations: int = 1
    data: list[float] | None = None


class _PytestBenchmark(msgspec.Struct, forbid_unknown_fields=False):
    fullname: str
    stats: _PytestStats


class _PytestReport(msgspec.Struct, forbid_unknown_fields=False):
    benchmarks: list[_PytestBenchmark]
    machine_info: _PytestMachine = msgspec.field(default_factory=_PytestMachine)
    commit_info: _PytestCommit = msgspec.field(default_factory=_PytestCommit)
    datetime: str | None = None
    version: str | None = None


def pytest_benchmark(content: bytes) -> Recorded:
    """Read a file of `--benchmark-json`, or a saved one: one process; each round is the mean over its iterations."""
    report = decode(content, _PytestReport, "pytest-benchmark")
    machine, cpu, commit = report.machine_info, report.machine_info.cpu, report.commit_info
    results = []
    for benchmark in report.benchmarks:
        stats = benchmark.stats
        launch = samples([stats.median] if stats.data is None else stats.data, stats.iterations)
        results.append(Result(tool_text(benchmark.fullname) or "a test without a name", (launch,) if launch else ()))
    few = any(benchmark.stats.data is None for benchmark in report.benchmarks)
    version_of = "" if commit.id in {None, "unversioned"} else tool_text(commit.id or "")
    return Recorded(
        tool="pytest-benchmark",
        version=tool_text(report.version or "") or NOT_SAID,
        results=tuple(results),
        started=moment(report.datetime),
        machine={
            "cpu": {
                "model": fact(cpu.brand_raw),
                "vendor": fact(cpu.vendor_id_raw),
                "cores": fact(cpu.count),
                "family": fact(cpu.family),
                "model number": fact(cpu.model),
                "stepping": fact(cpu.stepping),
            },
            "kernel": {"system": fact(machine.system), "release": fact(machine.release)},
            "python": {
                "version": fact(machine.python_version),
                "implementation": fact(machine.python_implementation),
            },
            "measured": {"commit": f"{version_of}{' with changes' * bool(commit.dirty)}" if version_of else NOT_SAID},
        },
        unknown=("times of single rounds (--benchmark-save-data keeps them)",) if few else (),
    )


class _OptimumLatency(msgspec.Struct, forbid_unknown_fields=False):
    unit: str
    values: list[float]


class _OptimumTarget(msgspec.Struct, forbid_unknown_fields=False):
    latency: _OptimumLatency | None = None


def optimum_benchmark(content: bytes) -> Recorded:
    """Read a `benchmark_report.json`: one process; every forward pass, prefill or decode is timed."""
    targets = decode(content, dict[str, _OptimumTarget], "optimum-benchmark")
    results = []
    for name, target in targets.items():
        if target.latency is not None:
            if target.latency.unit != "s":
                raise refused("optimum-benchmark", f"its unit of time is {target.latency.unit}")
            launch = samples(target.latency.values)
            results.append(Result(tool_text(name), (launch,) if launch else ()))
    return Recorded(
        tool="optimum-benchmark",
        version=NOT_SAID,
        results=tuple(results),
        unknown=("the machine, the model and its settings (benchmark_config.json has them) and when it ran",),
    )


PYPERF = Reader("pyperf", (b'"perf_version"', b'"pyperf_version"'), pyperf)
HYPERFINE = Reader("hyperfine (--export-json)", (b'"exit_codes"',), hyperfine)
GOOGLE_BENCHMARK = Reader("Google Benchmark (JSON)", (b'"library_build_type"',), google_benchmark)
PYTEST_BENCHMARK = Reader("pytest-benchmark (--benchmark-json)", (b'"machine_info"',), pytest_benchmark)
OPTIMUM_BENCHMARK = Reader("optimum-benchmark (benchmark_report.json)", (b'"stdev_"',), optimum_benchmark)
