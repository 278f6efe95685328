"""Tables and intervals as Markdown has them."""

from collections.abc import Callable, Iterable, Iterator, Sequence

from levelfield.analysis.types import Estimate
from levelfield.report import units
from levelfield.report.tables import Table, lowered
from levelfield.terminals import markdown_code as code
from levelfield.terminals import markdown_text as text


def table(headings: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    """Yield the lines of a table.

    >>> list(table(["case", "ratio:"], [["mlp", "1.02"]]))
    ['| case | ratio |', '|---|---:|', '| mlp | 1.02 |']
    """
    yield f"| {' | '.join(heading.removesuffix(':') for heading in headings)} |"
    yield f"|{'|'.join('---:' if heading.endswith(':') else '---' for heading in headings)}|"
    for row in rows:
        yield f"| {' | '.join(row)} |"


def of(found: Table, *, narrow: bool = True) -> Iterator[str]:
    """Yield the lines of a table, `narrow`: without the columns that need much room; texts of records stay texts."""
    found = found.shown("markdown", narrow=narrow)
    written = [code if column.code else text for column in found.columns]
    headings = [
        f"{text(lowered(head.text))}{f' ({head.interval})' if head.interval else ''}{':' if head.numeric else ''}"
        for head in found.heads
    ]
    rows = ([write(cell.line) for write, cell in zip(written, line.cells, strict=True)] for line in found.lines)
    yield from table(headings, rows)


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

    >>> interval(14.7, 14.5, 14.9, "{:.1f}".format, unit=" ms")
    '14.7 ms (14.5–14.9)'
    >>> interval(1.02, None, None, "{:.2f}".format)
    '1.02'
    """
    return units.NO_VALUE if value is None else units.within(Estimate(value, low, high), form, unit=unit, to=to)
