"""vLLM's `vllm bench serve --save-result` (before: `benchmark_serving.py`): requests to a server.

References
----------
vLLM, `vllm/benchmarks/serve.py`: statistics end in `_ms`; with `--save-detailed`, `ttfts`, `itls` and (not in all
versions) `latencies` are in seconds, a place for each request, and `errors` says why a request failed.
"""

from collections.abc import Iterator, Sequence
from itertools import chain
from typing import Final, TypeVar

import msgspec

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

TOOL: Final = "vLLM serving benchmark"
MARKS = (b'"tokenizer_id"',)
T = TypeVar("T")
_UNKNOWN = ("the machines of client and server", "the version of vLLM")


class _Saved(msgspec.Struct):
    model_id: str
    tokenizer_id: str | None
    date: str | None = None
    completed: int | None = None
    failed: int | None = None
    num_prompts: int | None = None
    max_concurrency: int | None = None
    request_rate: float | str | None = None
    request_throughput: float | None = None
    output_throughput: float | None = None
    total_token_throughput: float | None = None
    mean_ttft_ms: float | None = None
    median_ttft_ms: float | None = None
    p99_ttft_ms: float | None = None
    mean_tpot_ms: float | None = None
    median_tpot_ms: float | None = None
    p99_tpot_ms: float | None = None
    mean_itl_ms: float | None = None
    median_itl_ms: float | None = None
    p99_itl_ms: float | None = None
    mean_e2el_ms: float | None = None
    median_e2el_ms: float | None = None
    p99_e2el_ms: float | None = None
    ttfts: list[float] = []
    itls: list[list[float]] = []
    latencies: list[float] = []
    errors: list[str] = []


def parse(content: bytes) -> Recorded:
    """Read a result that was saved.

    Parameters
    ----------
    content
        The file.

    Returns
    -------
    Recorded
        One launch. Its samples are the requests where the details were saved, else the statistics of them.

    Raises
    ------
    LevelfieldError
        It is no such file.
    """
    saved = decoding.decode(content, _Saved, TOOL)
    what = _what(saved)
    none = saved.completed == 0
    failed = saved.failed or (0 if saved.completed is None else max(0, (saved.num_prompts or 0) - saved.completed))
    return Recorded(
        tool=TOOL,
        version=NO_DATE,
        results=(failed_result(what),) if none else tuple(_results(saved, what)),
        started=decoding.moment(saved.date),
        unknown=_UNKNOWN if saved.ttfts else (*_UNKNOWN, f"{STATISTICS_ONLY} (--save-detailed keeps them)"),
        left_out=() if none else left_out(failed),
    )


def _what(saved: _Saved) -> str:
    limits = []
    if saved.max_concurrency is not None:
        limits.append(f"at most {saved.max_concurrency} at once")
    if isinstance(saved.request_rate, float):
        limits.append(f"{saved.request_rate:g} requests/s")
    return ", ".join((model(saved.model_id), *limits))


def _results(saved: _Saved, what: str) -> Iterator[Result]:
    own = {
        "ttft": _succeeded(saved.ttfts, saved.errors),
        "itl": tuple(chain.from_iterable(_succeeded(saved.itls, saved.errors))),
        "e2el": _succeeded(saved.latencies, saved.errors),
    }
    for short, name in (
        ("ttft", "time to first token"),
        ("tpot", "time per output token"),
        ("itl", "inter-token latency"),
        ("e2el", "request latency"),
    ):
        mean_ms, median_ms, p99_ms = (getattr(saved, f"{which}_{short}_ms") for which in ("mean", "median", "p99"))
        latency = Latency(name, own.get(short, ()), _seconds(mean_ms), _seconds(median_ms), _seconds(p99_ms))
        yield from latency_results(what, latency)
    yield from rate_results(
        what,
        (
            ("request throughput", saved.request_throughput),
            ("output token throughput", saved.output_throughput),
            ("total token throughput", saved.total_token_throughput),
        ),
    )


def _succeeded(values: Sequence[T], errors: Sequence[str]) -> tuple[T, ...]:
    """Return the values of the requests without an error; all where there is no list of errors."""
    failed = {index for index, error in enumerate(errors) if error}
    return tuple(value for index, value in enumerate(values) if index not in failed)


def _seconds(value_ms: float | None) -> float | None:
    return None if value_ms is None else value_ms / 1e3
