"""Results of tools that put load on a server of language models: latencies of requests, and rates."""

from collections.abc import Iterable, Iterator

import msgspec

from suite.fieldtools.values import text
from suite.imported.types import Result, rate, samples, seconds

STATISTICS_ONLY = "single requests: percentiles and rates of the whole run stand for them"
"""What is not known of a file without them."""
ALL_FAILED = "no request succeeded"


class Latency(msgspec.Struct, frozen=True):
    """One latency of the requests of a run, in seconds."""

    name: str
    requests_s: tuple[float, ...] = ()
    """Of the requests; none: only the statistics are known."""
    mean_s: float | None = None
    median_s: float | None = None
    p99_s: float | None = None


def latency_results(what: str, found: Latency, failure: str = "") -> Iterator[Result]:
    """Yield the results of a latency: one with all requests, or their median, then the mean and the 99th percentile.

    Parameters
    ----------
    what
        What was measured, such as the model; it begins the names.
    found
        The latency.
    failure
        Why these are no results; empty: they are.
    """
    taken = samples(found.requests_s)
    if taken:
        yield Result(f"{what}, {found.name}", (taken,), failure=failure)
    median_s = None if taken else found.median_s
    for statistic, value_s in (("mean", found.mean_s), ("median", median_s), ("99th percentile", found.p99_s)):
        sample = seconds(value_s) if value_s is not None else None
        if sample is not None:
            yield Result(f"{what}, {found.name}, {statistic}", ((sample,),), failure=failure)


def rate_results(what: str, rates: Iterable[tuple[str, float | None]], failure: str = "") -> Iterator[Result]:
    """Yield a result for each rate that is known.

    Parameters
    ----------
    what
        As for `latency_results`.
    rates
        Names, and items a second.
    failure
        As for `latency_results`.
    """
    for name, per_second in rates:
        sample = rate(per_second) if per_second is not None else None
        if sample is not None:
            yield Result(f"{what}, {name}", ((sample,),), "throughput", failure)


def failed_result(what: str) -> Result:
    """Return the result of a run of which no request succeeded."""
    return Result(f"{what}, requests", (), failure=ALL_FAILED)


def model(name: str | None) -> str:
    """Return a model's name: the last part of a path, since its folders are those of somebody's machine."""
    written = text(name or "")
    last = written.rstrip("/").rsplit("/", 1)[-1] if written.startswith(("/", "~", "./")) else written
    return last or "a model without a name"


def left_out(failed: int) -> tuple[str, ...]:
    """Return what is said of requests that failed beside others that did not."""
    return (f"{failed} of the requests, which failed",) if failed else ()
