"""AIPerf's `profile_export_aiperf.json`: statistics over the requests of one run.

References
----------
AIPerf, `docs/tutorials/working-with-profile-exports.md` and `docs/metrics-reference.md`: each metric has its unit,
`avg` and percentiles; `request_throughput` and the token throughputs have `avg` alone.
"""

from collections.abc import Iterator
from typing import Final

import msgspec

from suite.fieldtools.values import refused, text
from suite.imported import decoding
from suite.imported.types import NO_DATE, Recorded, Result, rate, seconds

TOOL: Final = "AIPerf"
MARKS = (b'"aiperf_version"',)
_UNITS = {"ms": 1e-3, "sec": 1.0, "us": 1e-6, "ns": 1e-9}
_UNKNOWN = (
    "the machines of client and server",
    "single requests: percentiles and rates of the whole run stand for them",
)


class _Metric(msgspec.Struct):
    unit: str
    avg: float | None = None
    p50: float | None = None
    p99: float | None = None


class _Model(msgspec.Struct):
    name: str = ""


class _Models(msgspec.Struct):
    items: list[_Model] = []


class _Config(msgspec.Struct):
    models: _Models = msgspec.field(default_factory=_Models)


class _Export(msgspec.Struct):
    aiperf_version: str
    start_time: str | None = None
    was_cancelled: bool = False
    input_config: _Config = msgspec.field(default_factory=_Config)
    request_latency: _Metric | None = None
    time_to_first_token: _Metric | None = None
    inter_token_latency: _Metric | None = None
    request_throughput: _Metric | None = None
    output_token_throughput: _Metric | None = None


def parse(content: bytes) -> Recorded:
    """Read an export.

    Parameters
    ----------
    content
        The file.

    Returns
    -------
    Recorded
        One launch with one sample for the mean, median and 99th percentile of each latency, and for each rate.

    Raises
    ------
    LevelfieldError
        It is no such export, or has other units.
    """
    export = decoding.decode(content, _Export, TOOL)
    models = text(", ".join(model.name for model in export.input_config.models.items)) or "a model without a name"
    return Recorded(
        tool=TOOL,
        version=text(export.aiperf_version) or NO_DATE,
        results=tuple(_results(export, models)),
        started=decoding.moment(export.start_time),
        unknown=_UNKNOWN,
    )


def _results(export: _Export, models: str) -> Iterator[Result]:
    failure = "AIPerf says that the run was cancelled" if export.was_cancelled else ""
    for name in ("request_latency", "time_to_first_token", "inter_token_latency"):
        metric: _Metric | None = getattr(export, name)
        if metric is None:
            continue
        if metric.unit not in _UNITS:
            raise refused(TOOL, f"the unit of {name} is {metric.unit}")
        for statistic, value in (("mean", metric.avg), ("median", metric.p50), ("99th percentile", metric.p99)):
            sample = seconds(value * _UNITS[metric.unit]) if value is not None else None
            if sample is not None:
                yield Result(f"{models}, {name.replace('_', ' ')}, {statistic}", ((sample,),), failure=failure)
    for name in ("request_throughput", "output_token_throughput"):
        metric = getattr(export, name)
        sample = rate(metric.avg) if metric is not None and metric.avg is not None else None
        if metric is not None and not metric.unit.endswith("/sec"):
            raise refused(TOOL, f"the unit of {name} is {metric.unit}")
        if sample is not None:
            yield Result(f"{models}, {name.replace('_', ' ')}", ((sample,),), "throughput", failure)
