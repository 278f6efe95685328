"""Tables and intervals as Markdown has them."""

from collections.abc import Callable, Iterable, Iterator, Sequence

from levelfield.report import units
from levelfield.report.tables import Table, lowered
from levelfield.terminals import markdown_text as text


def table(headings: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    """Yield the lines of a table.

    Examples
    --------
    >>> list(table(["case", "ratio:"], [["mlp", "1.02"]]))
    ['| case | ratio |', '|---|---:|', '| mlp | 1.02 |']
    """
    yield f"| {' | '.join(heading.removesuffix(':') for heading in headings)} |"
    yield f"|{'|'.join('---:' if heading.endswith(':') else '---' for heading in headings)}|"
    for row in rows:
        yield f"| {' | '.join(row)} |"


def of(found: Table) -> Iterator[str]:
    """Yield the lines of a table of results, without the columns that need much room; texts of records stay texts."""
    found = found.shown("text", narrow=True)
    headings = [
        f"{text(lowered(head.text))}{f' ({head.interval})' if head.interval else ''}{':' if head.numeric else ''}"
        for head in found.heads
    ]
    yield from table(headings, (tuple(text(each.line) for each in line.cells) for line in found.lines))


def interval(
    value: float | None,
    low: float | None,
    high: float | None,
    form: Callable[[float], str],
    *,
    unit: str = "",
    to: str = "–",
) -> str:
    """Return an estimate with its interval, where there is one.

    Examples
    --------
    >>> interval(14.7, 14.5, 14.9, "{:.1f}".format, unit=" ms")
    '14.7 ms (14.5–14.9)'
    >>> interval(1.02, None, None, "{:.2f}".format)
    '1.02'
    """
    if value is None:
        return units.NO_VALUE
    if low is None or high is None:
        return f"{form(value)}{unit}"
    return f"{form(value)}{unit} ({form(low)}{to}{form(high)})"
