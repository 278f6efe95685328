"""GuideLLM's `benchmarks.json`: a benchmark for each strategy of load, with its requests where they were kept.

References
----------
GuideLLM, `src/guidellm/benchmark/schemas/generative`: latencies of requests are seconds, names that end in `_ms`
milliseconds; each statistic stands once for the requests that were successful, errored or incomplete.
"""

from collections.abc import Iterator
from typing import Final

import msgspec

from suite.fieldtools.values import text
from suite.imported import decoding
from suite.imported.served import (
    STATISTICS_ONLY,
    Latency,
    failed_result,
    latency_results,
    left_out,
    model,
    rate_results,
)
from suite.imported.types import NO_DATE, Recorded, Result

TOOL: Final = "GuideLLM"
MARKS = (b'"guidellm_version"',)
_UNKNOWN = ("the machine of the server", "the processor's name")


class _Percentiles(msgspec.Struct):
    p99: float | None = None


class _Statistics(msgspec.Struct):
    mean: float | None = None
    median: float | None = None
    percentiles: _Percentiles = msgspec.field(default_factory=_Percentiles)


class _Metric(msgspec.Struct):
    successful: _Statistics | None = None


class _Totals(msgspec.Struct):
    successful: int = 0
    errored: int = 0


class _Metrics(msgspec.Struct):
    request_totals: _Totals
    request_latency: _Metric | None = None
    time_to_first_token_ms: _Metric | None = None
    inter_token_latency_ms: _Metric | None = None
    requests_per_second: _Metric | None = None
    output_tokens_per_second: _Metric | None = None


class _Request(msgspec.Struct):
    request_latency: float | None = None
    time_to_first_token_ms: float | None = None
    inter_token_latency_ms: float | None = None


class _Requests(msgspec.Struct):
    successful: list[_Request] | None = None


class _Strategy(msgspec.Struct):
    type_: str = ""
    streams: int | None = None
    rate: float | None = None


class _Backend(msgspec.Struct):
    model: str | None = None


class _Config(msgspec.Struct):
    strategy: _Strategy = msgspec.field(default_factory=_Strategy)
    backend: _Backend = msgspec.field(default_factory=_Backend)


class _Benchmark(msgspec.Struct):
    metrics: _Metrics
    config: _Config = msgspec.field(default_factory=_Config)
    requests: _Requests = msgspec.field(default_factory=_Requests)
    start_time: float | None = None


class _Metadata(msgspec.Struct):
    guidellm_version: str
    python_version: str | None = None
    platform: str | None = None


class _Report(msgspec.Struct):
    metadata: _Metadata
    benchmarks: list[_Benchmark]


def parse(content: bytes) -> Recorded:
    """Read a report.

    Parameters
    ----------
    content
        The file.

    Returns
    -------
    Recorded
        One launch for each benchmark. Its samples are the requests where the file has them, else statistics of them.

    Raises
    ------
    LevelfieldError
        It is no such report.
    """
    report = decoding.decode(content, _Report, TOOL)
    every = all(each.requests.successful for each in report.benchmarks)
    started = [each.start_time for each in report.benchmarks if each.start_time is not None]
    totals = [each.metrics.request_totals for each in report.benchmarks]
    errored = sum(each.errored for each in totals if each.successful)
    return Recorded(
        tool=TOOL,
        version=text(report.metadata.guidellm_version) or NO_DATE,
        results=tuple(result for each in report.benchmarks for result in _results(each)),
        started=decoding.moment_of(min(started)) if started else NO_DATE,
        machine={
            "client": {
                "platform": decoding.said(report.metadata.platform),
                "Python": decoding.said(report.metadata.python_version),
            }
        },
        unknown=_UNKNOWN if every else (*_UNKNOWN, STATISTICS_ONLY),
        left_out=left_out(errored),
    )


def _results(benchmark: _Benchmark) -> Iterator[Result]:
    strategy, metrics = benchmark.config.strategy, benchmark.metrics
    amount = f" {strategy.streams}" if strategy.streams is not None else ""
    amount += f" {strategy.rate:g}/s" if strategy.rate is not None else ""
    what = f"{model(benchmark.config.backend.model)}, {text(strategy.type_) or 'load'}{amount}"
    if not metrics.request_totals.successful:
        yield failed_result(what)
        return
    requests = benchmark.requests.successful or []
    for field, name, unit_s in (
        ("request_latency", "request latency", 1.0),
        ("time_to_first_token_ms", "time to first token", 1e-3),
        ("inter_token_latency_ms", "inter-token latency", 1e-3),
    ):
        found: _Metric | None = getattr(metrics, field)
        own: list[float | None] = [getattr(request, field) for request in requests]
        statistics = (found and found.successful) or _Statistics()
        all_s = (statistics.mean, statistics.median, statistics.percentiles.p99)
        scaled = [None if value is None else value * unit_s for value in all_s]
        each_s = tuple(value * unit_s for value in own if value is not None)
        yield from latency_results(what, Latency(name, each_s, *scaled))
    rates = (("requests", metrics.requests_per_second), ("output tokens", metrics.output_tokens_per_second))
    yield from rate_results(what, ((name, _mean(found)) for name, found in rates))


def _mean(found: _Metric | None) -> float | None:
    return found.successful.mean if found is not None and found.successful is not None else None
