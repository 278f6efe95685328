"""Traces that frameworks wrote of five calls of the MLP."""

import gzip
from collections import Counter
from pathlib import Path

from levelfield.backends.profiling.operators import Span, summed

TRACES = Path(__file__).with_name("traces")


CALLS = 5


def trace(name: str) -> bytes:
    return gzip.decompress((TRACES / f"{name}.gz").read_bytes())


def by_kind(spans: list[Span]) -> dict[str, tuple[int, float]]:
    """Return executions and microseconds of all calls by kind."""
    executions: Counter[str] = Counter()
    self_us: dict[str, float] = {}
    for each in summed(spans, 1):
        executions[each.kind] += each.executions
        self_us[each.kind] = self_us.get(each.kind, 0.0) + each.self_ns / 1000
    return {kind: (count, self_us[kind]) for kind, count in executions.items()}
