"""Tables in a terminal. Names are wrapped between their words, and figures are never cut off."""

import re
import textwrap

from rich import box
from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.measure import Measurement
from rich.table import Table as RichTable
from rich.text import Text

from levelfield.errors import printable
from levelfield.report import units
from levelfield.report.tables import Cell, Table, lowered

SHORTEST_NAME = 12
"""Columns that names keep in the narrowest terminal, where their parts are so long."""
WIDEST_HEADING = 16
"""Columns in which the headings of figures are wrapped."""
_STYLES = {"unequal": "red", "failed": "red", "control": "dim", "absent": "dim"}
_PART = re.compile(r"[^/+, ]+[/+, ]*|[/+, ]+")
_WORD = re.compile(r"[^@=#-]+[@=#-]*|[@=#-]+")
"""What a part that is too long for a line is divided into."""


def rendered(table: Table, *, narrow: bool = False) -> RichTable:
    """Return a table to be printed; texts from records are printed as they are, never as rich's markup.

    `narrow`: leave out the columns that need a wide terminal.
    """
    table = table.shown("text", narrow=narrow)
    found = plain_table(table.title)
    for number, (column, head) in enumerate(zip(table.columns, table.heads, strict=True)):
        heading = lowered(head.text) if isinstance(column.heading, str) else head.text
        if head.numeric:
            parts = (heading, head.interval.replace("95 %", f"95{units.NBSP}%"))
            wrapped = "\n".join(line for part in parts for line in textwrap.wrap(part, WIDEST_HEADING))
            found.add_column(text(wrapped), justify="right", no_wrap=True)
        else:
            cells = (line.cells[number] for line in table.lines)
            longest = max((longest_part(cell.text) for cell in cells if cell.backend is not None), default=0)
            found.add_column(text(heading), min_width=min(longest, SHORTEST_NAME) or None)
    for line in table.lines:
        found.add_row(*(_cell(cell) for cell in line.cells), style=_STYLES.get(line.standing))
    return found


def _cell(cell: Cell) -> RenderableType:
    if cell.backend is None:
        return text(cell.line)
    return Identifier(printable(cell.line))


def text(content: str, style: str = "") -> Text:
    """Make a text without control characters: a record must not control the terminal."""
    return Text(printable(content), style)


def plain_table(title: str) -> RichTable:
    """Return a table without lines between its columns."""
    return RichTable(
        title=text(title, "bold"), title_justify="left", box=box.SIMPLE_HEAD, pad_edge=False, collapse_padding=True
    )


class Identifier:
    """A name that is wrapped between its parts: `tensorflow@2.18.1+frozen=on` after the plus, not after the `2`.

    Where a part is longer than a line, it is wrapped after `@`, `=`, `#` or a hyphen.

    Parameters
    ----------
    name
        Printed as it is, never as markup.
    """

    def __init__(self, name: str) -> None:
        self._name = name

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        for line in lines(self._name, options.max_width):
            yield from console.render(Text(line, overflow="fold"), options)

    def __rich_measure__(self, console: Console, options: ConsoleOptions) -> Measurement:
        return Measurement(longest_part(self._name), cell_len(self._name)).with_maximum(options.max_width)


def longest_part(name: str) -> int:
    """Return the columns that a name takes at the least."""
    words = (word for part in _PART.findall(name) for word in _WORD.findall(part))
    return max((cell_len(word.rstrip()) for word in words), default=0)


def lines(name: str, width: int) -> list[str]:
    """Return the lines of a name."""
    parts = _PART.findall(name)
    fitting = (_WORD.findall(part) if cell_len(part.rstrip()) > width else [part] for part in parts)
    found = [""]
    for part in (piece for pieces in fitting for piece in pieces):
        if found[-1] and cell_len(found[-1] + part.rstrip()) > width:
            found[-1] = found[-1].rstrip(" ")
            found.append("")
        found[-1] += part
    return found
