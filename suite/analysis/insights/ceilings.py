"""From the samples of the roofline probe to rates."""

import statistics
from collections.abc import Sequence

from suite.analysis.insights.types import Ceiling, Ceilings
from suite.record.schema import Absent, Roofline, Run

COPIED, ADDED = 2, 3
"""Arrays moved by a copy and by a sum."""


def of(run: Run) -> tuple[Ceilings, ...]:
    """Return what the probe reached, by the number of threads; empty where there was none, or it makes no sense."""
    if isinstance(run.roofline, Absent):
        return ()
    return tuple(found for each in run.roofline if (found := _of(each)) is not None)


def _of(roofline: Roofline) -> Ceilings | None:
    flops = _rate(2 * roofline.gemm_size**3, roofline.gemm_ns)
    copied = _rate(COPIED * roofline.array_bytes, roofline.copy_ns)
    added = _rate(ADDED * roofline.array_bytes, roofline.add_ns)
    if flops is None or copied is None or added is None:
        return None
    cache = roofline.last_cache_bytes
    return Ceilings(
        threads=roofline.threads,
        gemm_size=roofline.gemm_size,
        flops=flops,
        array_bytes=roofline.array_bytes,
        bytes=max(copied, added, key=lambda rate: rate.per_s),
        cache_bytes=None if isinstance(cache, Absent) or cache <= 0 else cache,
        disturbed=roofline.disturbed,
    )


def _rate(amount: int, samples_ns: Sequence[int]) -> Ceiling | None:
    if amount <= 0 or not samples_ns or min(samples_ns) <= 0:
        return None
    return Ceiling(
        per_s=1e9 * amount / statistics.median(samples_ns),
        lowest=1e9 * amount / max(samples_ns),
        highest=1e9 * amount / min(samples_ns),
        samples=len(samples_ns),
    )
