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
from suite.imported.served import STATISTICS_ONLY, Latency, latency_results, rate_results
from suite.imported.types import NO_DATE, Recorded, Result

TOOL: Final = "AIPerf"
MARKS = (b'"aiperf_version"',)
_UNITS = {"ms": 1e-3, "sec": 1.0, "us": 1e-6, "ns": 1e-9}
LATENCIES = ("request_latency", "time_to_first_token", "inter_token_latency")
_UNKNOWN = ("the machines of client and server", f"{STATISTICS_ONLY} (profile_export.jsonl has them)")


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
    for name in LATENCIES:
        metric: _Metric | None = getattr(export, name)
        if metric is None:
            continue
        unit_s = unit(name, metric.unit)
        statistics = (None if value is None else value * unit_s for value in (metric.avg, metric.p50, metric.p99))
        yield from latency_results(models, Latency(name.replace("_", " "), (), *statistics), failure)
    rates = {name: getattr(export, name) for name in ("request_throughput", "output_token_throughput")}
    for name, found in rates.items():
        if found is not None and not found.unit.endswith("/sec"):
            raise refused(TOOL, f"the unit of {name} is {found.unit}")
    said = ((name.replace("_", " "), found.avg) for name, found in rates.items() if found is not None)
    yield from rate_results(models, said, failure)


def unit(name: str, written: str) -> float:
    """Return the seconds of a unit of time.

    Parameters
    ----------
    name
        Of the metric, for the message.
    written
        The unit as AIPerf writes it.

    Raises
    ------
    LevelfieldError
        It is none.
    """
    if written not in _UNITS:
        raise refused(TOOL, f"the unit of {name} is {written}")
    return _UNITS[written]
