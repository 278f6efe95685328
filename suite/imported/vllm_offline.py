"""vLLM's `vllm bench latency` and `vllm bench throughput` with `--output-json`: batches without a server.

References
----------
vLLM, `vllm/benchmarks/latency.py`: `latencies` are the seconds of a batch each; `vllm/benchmarks/throughput.py`:
`requests_per_second` and `tokens_per_second` are those of the whole run.
"""

from typing import Final

import msgspec

from suite.imported import decoding
from suite.imported.served import rate_results
from suite.imported.types import NO_DATE, Recorded, Result, samples

TOOL: Final = "vLLM offline benchmark"
LATENCY_MARKS = (b'"avg_latency"',)
THROUGHPUT_MARKS = (b'"total_num_tokens"',)
_UNKNOWN = ("the machine, the model and its settings, the version of vLLM and when it ran",)


class _Latency(msgspec.Struct):
    avg_latency: float
    latencies: list[float]


class _Throughput(msgspec.Struct):
    total_num_tokens: int
    requests_per_second: float
    tokens_per_second: float


def parse_latency(content: bytes) -> Recorded:
    """Read what `vllm bench latency` wrote.

    Parameters
    ----------
    content
        The file.

    Returns
    -------
    Recorded
        One launch; a sample is a batch.

    Raises
    ------
    LevelfieldError
        It is no such file.
    """
    taken = samples(decoding.decode(content, _Latency, TOOL).latencies)
    return _recorded((Result("batch latency", (taken,) if taken else ()),))


def parse_throughput(content: bytes) -> Recorded:
    """Read what `vllm bench throughput` wrote.

    Parameters
    ----------
    content
        The file.

    Returns
    -------
    Recorded
        One launch with a sample for each rate.

    Raises
    ------
    LevelfieldError
        It is no such file.
    """
    found = decoding.decode(content, _Throughput, TOOL)
    rates = ("requests", found.requests_per_second), ("tokens", found.tokens_per_second)
    return _recorded(tuple(rate_results("offline", rates)))


def _recorded(results: tuple[Result, ...]) -> Recorded:
    return Recorded(tool=TOOL, version=NO_DATE, results=results, unknown=_UNKNOWN)
