"""One model of a table, for every format: columns that know their cells, and what becomes of the rows.

A column is declared once; a writer for each format takes it from there: `templates/tables.html.j2` for pages,
`rendered` for terminals, `in_markdown`, and `export` for files.
"""

import itertools
import textwrap
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Generic, Literal, TypeAlias, TypeVar

from rich import box
from rich.cells import cell_len
from rich.table import Table as RichTable
from rich.text import Text

from levelfield.analysis.types import Estimate
from levelfield.errors import printable
from levelfield.record.schema import Absent, Case
from levelfield.report import units
from levelfield.report.units import Scale
from levelfield.terminals import markdown_code, markdown_text

Row = TypeVar("Row")
Part = TypeVar("Part")
Value: TypeAlias = str | int | float | bool | None
"""In a file."""
Kind: TypeAlias = Literal["time", "bytes", "rate", "number"]
"""What numbers are of: nanoseconds, bytes, a rate or a number without a unit."""
Tone: TypeAlias = Literal[
    "", "muted", "best", "bad", "enough", "code", "series", "said", "note", "worse", "undecided", "aside", "fine"
]
"""How a cell looks; the last four are outcomes of a comparison (`compare.types`)."""
_SCALES: Mapping[Kind, Callable[[float], Scale]] = {
    "time": units.scale_ns,
    "bytes": units.scale_bytes,
    "rate": units.scale_count,
}
ONE = Scale("", 1.0)
SHORTEST_NAME = 12
"""Columns that names keep in the narrowest terminal."""
WIDEST_HEADING = 16
"""Columns in which the headings of figures are wrapped."""
_STYLES = {"unequal": "red", "failed": "red", "control": "dim", "absent": "dim"}
"""Of a row in terminals, by its standing."""
_TONES = {"worse": "bold red", "undecided": "yellow", "aside": "cyan", "fine": "green", "note": "dim"}
"""Of a cell."""


@dataclass(frozen=True)
class Cell:
    """What a row has in a column, for readers."""

    text: str
    interval: str = ""
    under: str = ""
    """A second figure, on the page in small letters below the first."""
    reason: str = ""
    """Why there is no value."""
    mark: str = ""
    """A word that distinguishes the row: `not equal`, `control`."""
    tone: Tone = ""
    why: str = ""
    """Reason for the word."""
    backend: str | None = None
    """Of an arm's name: it has the colour of its backend."""

    @property
    def line(self) -> str:
        """The cell on one line: `21.3 (20.9–21.8)`, `torch (not equal)`."""
        return " ".join((self.text, *(f"({each})" for each in (self.interval, self.mark) if each)))


Shown: TypeAlias = Cell | Estimate | Absent | str | int | float | tuple[float, ...] | None
NONE = Cell(units.NO_VALUE, tone="muted")


@dataclass(frozen=True)
class Column(Generic[Row]):
    """One column: its heading, and how a cell is made from a row."""

    heading: str | Callable[[Sequence[Row]], str]
    """For readers, or how it follows from the rows."""
    value: Callable[[Row], Shown]
    kind: Kind = "number"
    """Numbers of one kind share a unit in a table where it is given one; it stands in the heading."""
    interval: str = ""
    """What the interval beside the values is: `95 %`."""
    small: str = ""
    """What the figure below the values is."""
    files: tuple[str, ...] = ()
    """Its names in files: one, or three of an estimate and its bounds. Empty: it is not in files."""
    exact: Callable[[Row], Estimate | Value] | None = None
    """What files hold in place of `value`, which is written for readers."""
    where: Callable[[Sequence[Row]], bool] | None = None
    """Whether a table of these rows has it; None: each has."""
    numeric: bool = True
    wide: bool = False
    """Left out where there is little room."""
    whole: bool = False
    """Never wrapped in a terminal; figures never are."""
    code: bool = False
    """Set as code in Markdown."""
    only: Literal["", "page", "text", "markdown", "narrow", "files"] = ""
    """Shown on pages alone, in terminals and Markdown alone, there where there is little room, or nowhere."""

    def plain(self, row: Row) -> dict[str, Value]:
        """Return what files hold of a row; empty where they do not have this column, or the row no value."""
        found = (self.exact or self.value)(row) if self.files else None
        match found:
            case Estimate():
                return dict(zip(self.files, (found.value, found.low, found.high), strict=True))
            case Cell():
                return {self.files[0]: found.text}
            case str() | int() | float():
                return {self.files[0]: found}
            case _:
                return {}


@dataclass(frozen=True)
class Head:
    """What stands above a column."""

    text: str
    interval: str
    small: str
    numeric: bool


@dataclass(frozen=True)
class Line:
    cells: tuple[Cell, ...]
    arm: str = ""
    backend: str = ""
    standing: str = ""
    case: Case | None = None
    data: Mapping[str, str] = field(default_factory=dict)
    """Further marks that the page's script reads."""


@dataclass(frozen=True)
class Table:
    title: str
    columns: tuple[Column[Any], ...]
    heads: tuple[Head, ...]
    lines: tuple[Line, ...]
    label: str = ""
    """For those who do not see it; empty: as the title."""
    case: Case | None = None
    look: str = ""
    """Class of its style."""
    foot: tuple[Cell, ...] = ()
    notes: tuple[str, ...] = ()
    """Sentences below it."""

    def shown(self, medium: Literal["page", "text", "markdown"], *, narrow: bool = False) -> "Table":
        """Return the table with the columns of a medium alone; Markdown has those of terminals, too."""
        media = ("", medium, *(["text"] if medium == "markdown" else []), *(["narrow"] if narrow else []))
        kept = [column.only in media and not (narrow and column.wide) for column in self.columns]

        def of(parts: Iterable[Part]) -> tuple[Part, ...]:
            return tuple(itertools.compress(parts, kept))

        lines = tuple(replace(line, cells=of(line.cells)) for line in self.lines)
        return replace(self, columns=of(self.columns), heads=of(self.heads), lines=lines, foot=of(self.foot))


def make(
    title: str,
    columns: Iterable[Column[Row]],
    rows: Sequence[Row],
    *,
    scales: Mapping[Kind, Scale] | None = None,
    marks: Callable[[Row], Mapping[str, Any]] | None = None,
    **further: Any,  # noqa: ANN401  (fields of `Table`)
) -> Table:
    """Make the table of some rows.

    `scales`: unit of all numbers of a kind; others are written with a unit each. `marks`: fields of a row's `Line`.
    """
    units_of = scales or {}
    chosen = tuple(column for column in columns if column.where is None or column.where(rows))
    lines = tuple(
        Line(
            tuple(cell(column.value(row), column.kind, units_of.get(column.kind)) for column in chosen),
            **(marks or marks_of)(row),
        )
        for row in rows
    )
    heads = tuple(
        Head(_heading(column, rows, units_of.get(column.kind)), column.interval, column.small, column.numeric)
        for column in chosen
    )
    return Table(title, chosen, heads, lines, **further)


def _heading(column: Column[Row], rows: Sequence[Row], unit: Scale | None) -> str:
    heading = column.heading if isinstance(column.heading, str) else column.heading(rows)
    if unit is None or not unit.unit:
        return heading
    return f"{unit.unit} {heading}" if column.kind == "rate" else f"{heading},{units.NBSP}{unit.unit}"


def marks_of(row: object) -> dict[str, Any]:
    """Return what most rows are marked by: their arm, and what it is called."""
    return {name: getattr(row, name) for name in ("arm", "backend", "standing") if hasattr(row, name)}


def scale(kind: Kind, values: Iterable[float | None], pick: Callable[[Iterable[float]], float] = max) -> Scale:
    """Return the unit for numbers of a kind, by the largest (or smallest) of them."""
    known = [value for value in values if value is not None]
    return _SCALES[kind](pick(known) if known else 0)


def cell(value: Shown, kind: Kind = "number", unit: Scale | None = None) -> Cell:
    """Return a value as it is written; `unit`: the one that all numbers of its kind share, and none is added."""
    match value:
        case Cell():
            return value
        case None:
            return NONE
        case Absent():
            return unknown(value)
        case str():
            return Cell(value)
        case Estimate():
            own = unit or (_SCALES[kind](value.value) if kind in _SCALES else ONE)
            text, interval = units.spread(value, own)
            return Cell(text if unit else _with_unit(text, own), interval)
        case tuple():
            factor = unit.factor if unit else 1.0
            return Cell(" · ".join(units.digits(each / factor) for each in value) or units.NO_VALUE, tone="series")
        case int() if kind == "number":
            return Cell(units.count(value))
        case _:
            own = unit or (_SCALES[kind](value) if kind in _SCALES else ONE)
            text = units.digits(value / own.factor)
            return Cell(text if unit else _with_unit(text, own))


def unknown(value: Absent, text: str = "not known") -> Cell:
    """Return the cell of what is not known, with the reason."""
    return Cell(text, reason=value.reason, tone="muted")


def error(value: float | Absent, under: str = "", *, equal: bool = True) -> Cell:
    """Return the cell of a numerical error."""
    known = unknown(value) if isinstance(value, Absent) else Cell(units.error(value))
    return (
        known
        if equal and not under
        else replace(known, under=under, mark="" if equal else "not equal", tone=known.tone if equal else "bad")
    )


def _with_unit(text: str, unit: Scale) -> str:
    return f"{text}{units.NBSP}{unit.unit}" if unit.unit else text


ARM: Column[Any] = Column("Arm", lambda row: Cell(row.arm, backend=row.backend), numeric=False)
"""Name of an arm, for any rows that have one."""


def lowered(heading: str) -> str:
    """Return a heading as it stands within a line: `arm`, but `CPU` and `J an item`."""
    return heading[:1].lower() + heading[1:] if heading[1:2].islower() else heading


def rendered(table: Table, *, narrow: bool = False) -> RichTable:
    """Return a table to be printed, `narrow`: without wide columns; texts of records are never rich's markup."""
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
            longest = max((cell_len(cell.text) for cell in cells if cell.backend is not None), default=0)
            least = min(longest, SHORTEST_NAME) or None
            found.add_column(text(heading), min_width=least, overflow="fold", no_wrap=column.whole)
    for line in table.lines:
        style = _STYLES.get(line.standing)
        found.add_row(*(text(cell.line, _TONES.get(cell.tone, "")) for cell in line.cells), style=style)
    return found


def in_markdown(table: Table, *, narrow: bool = True) -> Iterator[str]:
    """Yield the lines of a table, `narrow`: without the columns that need much room; texts of records stay texts."""
    table = table.shown("markdown", narrow=narrow)
    written = [markdown_code if column.code else markdown_text for column in table.columns]
    headings = [
        markdown_text(lowered(head.text)) + (f" ({head.interval})" if head.interval else "") + ":" * head.numeric
        for head in table.heads
    ]
    rows = ([write(cell.line) for write, cell in zip(written, line.cells, strict=True)] for line in table.lines)
    yield from markdown(headings, rows)


def markdown(headings: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    """Yield the lines of a table in Markdown; a heading that ends with a colon is of numbers.

    >>> list(markdown(["case", "ratio:"], [["mlp", "1.02"]]))
    ['| case | ratio |', '|---|---:|', '| mlp | 1.02 |']
    """
    yield f"| {' | '.join(heading.removesuffix(':') for heading in headings)} |"
    yield f"|{'|'.join('---:' if heading.endswith(':') else '---' for heading in headings)}|"
    for row in rows:
        yield f"| {' | '.join(row)} |"


def text(content: str, style: str = "") -> Text:
    """Make a text without control characters: a record must not control the terminal."""
    return Text(printable(content), style)


def plain_table(title: str) -> RichTable:
    """Return a table without lines between its columns."""
    return RichTable(
        title=text(title, "bold") if title else None,
        title_justify="left",
        box=box.SIMPLE_HEAD,
        pad_edge=False,
        collapse_padding=True,
    )
