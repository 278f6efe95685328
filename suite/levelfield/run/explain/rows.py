"""From a profiler's report to rows and one account: pure functions, the same for every framework."""

import statistics
from collections.abc import Sequence

import msgspec

from levelfield.backends.profiling.operators import Operator
from levelfield.worker.messages import Profiled


class Row(msgspec.Struct, frozen=True):
    """One line of the table: a kind of operator, or one operator of a kind."""

    operator: str
    layer: str
    """Empty where kinds are summed, and where the framework has no name for it."""
    calls: float
    """In one call of the model."""
    self_us: float
    """In one call of the model, in its own work alone: the median over calls."""
    share: float
    """Of all operators' time."""
    cumulative: float


class Account(msgspec.Struct, frozen=True):
    """How far the profile can be believed."""

    plain_us: float
    """Median call without the profiler."""
    plain_calls: int
    profiled_us: float
    """Median call under it."""
    profiled_calls: int
    operators_us: float
    """All operators' own time in one call."""
    slowdown: float
    """Of the median call, by the profiler."""
    accounted: float
    """All operators' time as a share of the plain median."""


def rows(profiled: Profiled, *, by_layer: bool) -> tuple[Row, ...]:
    """Return the operators of a profile, the longest first.

    Returns calls and self time of each, and its share of the profile's whole self time.
    """
    operators = profiled.operators if by_layer else _by_kind(profiled.operators)
    calls = len(profiled.profiled_ns)
    whole = sum(each.self_ns for each in operators)
    found: list[Row] = []
    so_far = 0.0
    for each in operators:
        so_far += each.self_ns
        found.append(
            Row(
                operator=each.kind,
                layer=each.name,
                calls=each.executions / calls,
                self_us=each.self_ns / 1000,
                share=each.self_ns / whole if whole else 0.0,
                cumulative=so_far / whole if whole else 0.0,
            )
        )
    return tuple(found)


def _by_kind(operators: Sequence[Operator]) -> list[Operator]:
    found: dict[str, Operator] = {}
    for each in operators:
        kind = found.get(each.kind, Operator(each.kind, "", 0, 0.0))
        found[each.kind] = Operator(each.kind, "", kind.executions + each.executions, kind.self_ns + each.self_ns)
    return sorted(found.values(), key=lambda each: (-each.self_ns, each.kind))


def account(profiled: Profiled) -> Account:
    """Compare the profile with the plain calls of the same launch."""
    plain_us = statistics.median(profiled.plain_ns) / 1000
    profiled_us = statistics.median(profiled.profiled_ns) / 1000
    operators_us = sum(each.self_ns for each in profiled.operators) / 1000
    return Account(
        plain_us=plain_us,
        plain_calls=len(profiled.plain_ns),
        profiled_us=profiled_us,
        profiled_calls=len(profiled.profiled_ns),
        operators_us=operators_us,
        slowdown=profiled_us / plain_us,
        accounted=operators_us / plain_us,
    )
