"""A profile on the terminal and as CSV. Operators' names come from models and traces: they are data."""

from collections.abc import Iterator, Sequence

import msgspec
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from levelfield.errors import printable
from levelfield.report.tables import Value
from levelfield.run.explain.measure import Explained
from levelfield.run.explain.rows import Account, account, rows

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
