"""Rows and one account of a profile, on the terminal and as CSV. Names of operators come from models: they are data."""

import statistics
from collections.abc import Iterator, Sequence

import msgspec
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from levelfield.backends.profiling.operators import Operator
from levelfield.errors import printable
from levelfield.report.tables import Value
from levelfield.run.explain import Explained
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


COLUMNS = ("result", "version", "operator", "layer", "calls", "self_us", "share", "cumulative")
"""Of CSV."""


def show(found: Explained, console: Console, *, by_layer: bool, top: int) -> None:
    """Print the table of one result, and how accurate it is."""
    every = rows(found.profiled, by_layer=by_layer)
    title = _plain(f"{found.id}: {found.profiled.source}, version {found.version}")
    console.print(f"[bold]{title}[/]", highlight=False, soft_wrap=True)
    table = Table()
    table.add_column("operator", overflow="fold")
    if by_layer:
        table.add_column("layer", overflow="fold")
    for heading in ("calls", "self µs", "share", "cumulative"):
        table.add_column(heading, justify="right", no_wrap=True)
    shown = every if not top else every[:top]
    for row in shown:
        names = (_plain(row.operator), _plain(row.layer)) if by_layer else (_plain(row.operator),)
        table.add_row(*names, f"{row.calls:.6g}", _us(row.self_us), _share(row.share), _share(row.cumulative))
    rest = every[len(shown) :]
    if rest:
        names = (f"[dim]{len(rest)} more (--top 0 shows all)[/]", "") if by_layer else (f"[dim]{len(rest)} more[/]",)
        table.add_row(
            *names,
            f"{sum(row.calls for row in rest):.6g}",
            _us(sum(row.self_us for row in rest)),
            _share(sum(row.share for row in rest)),
            _share(1.0),
        )
    console.print(table)
    console.print(sentence(account(found.profiled)), highlight=False, soft_wrap=True)
    console.print(f"[dim]{_plain(found.profiled.note)}[/]\n", highlight=False, soft_wrap=True)


def sentence(account: Account) -> str:
    """Say how much of the plain call the profile accounts for, and what profiling cost."""
    return (
        f"Operators take {_us(account.operators_us)} µs of a call: {_share(account.accounted)} of the plain median "
        f"({_us(account.plain_us)} µs, {account.plain_calls} calls in the same launch). Profiled, a call took "
        f"{account.slowdown:.2f} times as long ({_us(account.profiled_us)} µs, {account.profiled_calls} calls)."
    )


def as_rows(found: Sequence[Explained], *, by_layer: bool) -> Iterator[dict[str, Value]]:
    """Yield the rows of all results for CSV."""
    for each in found:
        for row in rows(each.profiled, by_layer=by_layer):
            yield {"result": each.id, "version": each.version, **msgspec.structs.asdict(row)}


def _plain(text: str) -> str:
    return escape(printable(text).replace("\n", " "))


def _us(value: float) -> str:
    return f"{value:,.0f}".replace(",", " ") if value >= 100 else f"{value:.3g}"


def _share(value: float) -> str:
    return f"{100 * value:.1f} %"
