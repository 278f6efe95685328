"""optimum-benchmark's `benchmark_report.json`: one process, and every forward pass, prefill or decode timed.

References
----------
optimum-benchmark, `trackers/latency.py`: `values` in seconds; `throughput` follows from their mean and the batch size,
which stands in the configuration.
"""

from typing import Final

import msgspec

from levelfield.imported import decoding
from levelfield.imported.types import NO_DATE, Recorded, Result, samples
from levelfield.safety.tool_output import refused, text

TOOL: Final = "optimum-benchmark"
MARKS = (b'"stdev_"',)
_UNKNOWN = ("the machine, the model and its settings (benchmark_config.json has them) and when it ran",)


class _Latency(msgspec.Struct):
    unit: str
    values: list[float]


class _Target(msgspec.Struct):
    latency: _Latency | None = None


def parse(content: bytes) -> Recorded:
    """Read a report.

    Raises LevelfieldError: it is no such report, or its times are not in seconds.
    """
    targets = decoding.decode(content, dict[str, _Target], TOOL)
    timed = {text(name): each.latency for name, each in targets.items() if each.latency is not None}
    for latency in timed.values():
        if latency.unit != "s":
            raise refused(TOOL, f"its unit of time is {latency.unit}")
    return Recorded(
        tool=TOOL,
        version=NO_DATE,
        results=tuple(
            Result(name, (taken,) if (taken := samples(latency.values)) else ()) for name, latency in timed.items()
        ),
        unknown=_UNKNOWN,
    )
