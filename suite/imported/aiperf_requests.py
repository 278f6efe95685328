"""AIPerf's `profile_export.jsonl`: a line for each request.

References
----------
AIPerf, `docs/tutorials/working-with-profile-exports.md`: each line has `metadata`, `metrics` with a value and a unit
each, and `error` where the request failed; the requests of the warm-up have another `benchmark_phase` than `profiling`.
"""

from collections.abc import Iterator
from typing import Final

import msgspec

from suite.imported import aiperf, decoding
from suite.imported.served import Latency, failed_result, latency_results, left_out
from suite.imported.types import NO_DATE, Recorded

MARKS: Final = (b'"request_start_ns"',)
_UNKNOWN = ("the machines of client and server, the model and the version of AIPerf",)
_WHAT = "requests"
_PROFILING = "profiling"


class _Metadata(msgspec.Struct):
    request_start_ns: int
    benchmark_phase: str = _PROFILING
    was_cancelled: bool = False


class _Metric(msgspec.Struct):
    unit: str
    value: float | list[float] | None = None


class _Metrics(msgspec.Struct):
    request_latency: _Metric | None = None
    time_to_first_token: _Metric | None = None
    inter_token_latency: _Metric | None = None


class _Line(msgspec.Struct):
    metadata: _Metadata
    metrics: _Metrics = msgspec.field(default_factory=_Metrics)
    error: msgspec.Raw = msgspec.Raw(b"null")

    @property
    def failed(self) -> bool:
        return self.metadata.was_cancelled or bytes(self.error) != b"null"


def parse(content: bytes) -> Recorded:
    """Read an export, line by line.

    Parameters
    ----------
    content
        The file.

    Returns
    -------
    Recorded
        One launch, whose samples are the requests in the order of the file, without those of the warm-up.

    Raises
    ------
    LevelfieldError
        A line is no such request, or has other units.
    """
    lines = [line for line in _lines(content) if line.metadata.benchmark_phase == _PROFILING]
    failed = sum(line.failed for line in lines)
    times: dict[str, list[float]] = {name: [] for name in aiperf.LATENCIES}
    for line in lines:
        for name in aiperf.LATENCIES:
            metric: _Metric | None = getattr(line.metrics, name)
            if not line.failed and metric is not None and isinstance(metric.value, float):
                times[name].append(metric.value * aiperf.unit(name, metric.unit))
    none = bool(lines) and failed == len(lines)
    results = (
        result
        for name, taken in times.items()
        for result in latency_results(_WHAT, Latency(name.replace("_", " "), tuple(taken)))
    )
    return Recorded(
        tool=aiperf.TOOL,
        version=NO_DATE,
        results=(failed_result(_WHAT),) if none else tuple(results),
        started=decoding.moment_of(min(line.metadata.request_start_ns for line in lines) / 1e9) if lines else NO_DATE,
        unknown=_UNKNOWN,
        left_out=() if none else left_out(failed),
    )


def _lines(content: bytes) -> Iterator[_Line]:
    start = 0
    while start < len(content):
        end = content.find(b"\n", start)
        end = len(content) if end < 0 else end
        line = content[start:end].strip()
        if line:
            yield decoding.decode(line, _Line, aiperf.TOOL)
        start = end + 1
