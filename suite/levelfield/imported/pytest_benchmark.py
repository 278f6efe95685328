"""pytest-benchmark's JSON: one process, and each round is the mean over its iterations.

References
----------
pytest-benchmark, documentation, "Usage" (`--benchmark-json`, `--benchmark-save-data`): `stats.data` has the seconds of
a call in every round, where it was asked for; else only statistics of them are there.
"""

from typing import Final

import msgspec

from levelfield.imported import decoding
from levelfield.imported.types import NO_DATE, Recorded, Result, Timed, samples
from levelfield.record.schema import Absent, Fact
from levelfield.safety.tool_output import text

TOOL: Final = "pytest-benchmark"
MARKS = (b'"machine_info"',)


class _Cpu(msgspec.Struct):
    brand_raw: str | None = None
    vendor_id_raw: str | None = None
    count: int | None = None
    family: int | None = None
    model: int | None = None
    stepping: int | None = None


class _Machine(msgspec.Struct):
    cpu: _Cpu = msgspec.field(default_factory=_Cpu)
    system: str | None = None
    release: str | None = None
    python_version: str | None = None
    python_implementation: str | None = None


class _Commit(msgspec.Struct):
    id: str | None = None
    dirty: bool | None = None


class _Stats(msgspec.Struct):
    median: float
    iterations: int = 1
    data: list[float] | None = None


class _Benchmark(msgspec.Struct):
    fullname: str
    stats: _Stats


class _Report(msgspec.Struct):
    benchmarks: list[_Benchmark]
    machine_info: _Machine = msgspec.field(default_factory=_Machine)
    commit_info: _Commit = msgspec.field(default_factory=_Commit)
    datetime: str | None = None
    version: str | None = None


def parse(content: bytes) -> Recorded:
    """Read a file that pytest-benchmark wrote with `--benchmark-json`, or one that it saved.

    Raises LevelfieldError: it is no such file.
    """
    report = decoding.decode(content, _Report, TOOL)
    cpu, machine = report.machine_info.cpu, report.machine_info
    facts: dict[str, Fact] = {
        "model": decoding.said(cpu.brand_raw),
        "vendor": decoding.said(cpu.vendor_id_raw),
        "cores": decoding.said(cpu.count),
        "family": decoding.said(cpu.family),
        "model number": decoding.said(cpu.model),
        "stepping": decoding.said(cpu.stepping),
    }
    few = any(benchmark.stats.data is None for benchmark in report.benchmarks)
    return Recorded(
        tool=TOOL,
        version=text(report.version or "") or NO_DATE,
        results=tuple(
            Result(text(each.fullname) or "a test without a name", tuple(filter(None, (_launch(each.stats),))))
            for each in report.benchmarks
        ),
        started=decoding.moment(report.datetime),
        machine={
            "cpu": facts,
            "kernel": {"system": decoding.said(machine.system), "release": decoding.said(machine.release)},
            "python": {
                "version": decoding.said(machine.python_version),
                "implementation": decoding.said(machine.python_implementation),
            },
            "measured": {"commit": _commit(report.commit_info)},
        },
        unknown=("times of single rounds (--benchmark-save-data keeps them)",) if few else (),
    )


def _launch(stats: _Stats) -> tuple[Timed, ...]:
    if stats.data is None:
        return samples([stats.median])
    return samples(stats.data, stats.iterations)


def _commit(commit: _Commit) -> Fact:
    if commit.id in {None, "", "unversioned"}:
        return Absent("the file does not say")
    return f"{text(commit.id or '')}{' with changes' if commit.dirty else ''}"
