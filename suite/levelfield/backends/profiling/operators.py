"""From the spans of a trace to operators: how often each ran, and how long it was in its own work."""

import statistics
from collections.abc import Iterable, Sequence

import msgspec

MAX_NAME_CHARS = 300
"""Longer names are cut: they come from model files, which may be a stranger's."""


class Operator(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One operator of a model."""

    kind: str
    """What it computes, as its framework calls it: `Conv`, `aten::addmm`, `dot_add_fusion`."""
    name: str
    """Which one of its kind, where the framework can say; else empty."""
    executions: int
    """Over all calls that were profiled."""
    self_ns: float
    """In one call of the model: time in it and in no other operator that it calls."""


class Span(msgspec.Struct, frozen=True):
    """One execution of an operator."""

    kind: str
    name: str
    thread: str
    """Spans of one thread lie within one another or apart."""
    begin_ns: float
    end_ns: float


def summed(spans: Iterable[Span], calls: int) -> tuple[Operator, ...]:
    """Return the operators of a trace, the longest first; what a span calls is taken out of its own time.

    Examples
    --------
    >>> [(each.kind, each.self_ns) for each in summed([Span("conv", "", "1", 0, 9), Span("copy", "", "1", 2, 5)], 1)]
    [('conv', 6.0), ('copy', 3.0)]
    """
    threads: dict[str, list[Span]] = {}
    for span in spans:
        threads.setdefault(span.thread, []).append(span)
    alone = [each for found in threads.values() for each in _self_spans(found)]
    alone.sort(key=lambda each: each[0].begin_ns)
    return operators(((span.kind, span.name, self_ns) for span, self_ns in alone), calls)


def operators(executions: Iterable[tuple[str, str, float]], calls: int) -> tuple[Operator, ...]:
    """Return operators, the longest first.

    `executions`: kind, name and nanoseconds of every execution, in their order.
    """
    by_operator: dict[tuple[str, str], list[float]] = {}
    for kind, name, own_ns in executions:
        by_operator.setdefault((kind[:MAX_NAME_CHARS], name[:MAX_NAME_CHARS]), []).append(own_ns)
    found = [Operator(*key, len(own_ns), _typical(own_ns, calls)) for key, own_ns in by_operator.items()]
    return tuple(sorted(found, key=lambda each: (-each.self_ns, each.kind, each.name)))


def _self_spans(found: list[Span]) -> list[tuple[Span, float]]:
    """Return each span of one thread with what is left of it when those that lie in it are taken out."""
    own: list[float] = []
    around: list[int] = []
    ordered = sorted(found, key=lambda each: (each.begin_ns, -each.end_ns))
    for index, span in enumerate(ordered):
        while around and ordered[around[-1]].end_ns <= span.begin_ns:
            around.pop()
        if around:
            own[around[-1]] -= max(0.0, min(span.end_ns, ordered[around[-1]].end_ns) - span.begin_ns)
        own.append(span.end_ns - span.begin_ns)
        around.append(index)
    return [(span, max(0.0, self_ns)) for span, self_ns in zip(ordered, own, strict=True)]


def _typical(own_ns: Sequence[float], calls: int) -> float:
    """Return an operator's time in one call: the median over calls, since one interruption is longer than most.

    Where it did not run equally often in every call, nothing says which execution belongs to which: then the mean.
    """
    each, left = divmod(len(own_ns), calls)
    if left or not each:
        return sum(own_ns) / calls
    return statistics.median(sum(own_ns[first : first + each]) for first in range(0, len(own_ns), each))
