"""Parts of a page: its inert blocks, and the places where two pages differ, in words that a reader finds there.

A page of ours is well formed and escapes `<` and `>` in all that it quotes, so that one pass over its tags suffices. A
stranger's page may be anything: nothing here takes longer than in proportion to its length.
"""

import difflib
import html
import re
from collections.abc import Iterator

import msgspec

from levelfield.errors import LevelfieldError, shortened

_TOKEN = re.compile(r"<[^<>]*>|[^<]+|<")
_RECORD = '<script type="application/json" id="record">'
_STATEMENT = '<script type="application/json" id="statement">'
_END = "</script>"
_MARKUP = frozenset("<>&")
_MOST_ALIGNED = 3_000
"""Most parts that are aligned one against the other: the time for it grows with the square."""
MOST_NAMED = 20


class Page(msgspec.Struct, frozen=True):
    """A page, its inert blocks taken out."""

    around: str
    """Everything else; an empty record block replaces what was taken out."""
    record: str
    statement: str | None


class Difference(msgspec.Struct, frozen=True):
    """One place where a page does not say what follows from its record."""

    place: str
    given: str
    computed: str

    def __str__(self) -> str:
        given = f"the page says “{self.given}”" if self.given else "the page says nothing"
        computed = f"its record gives “{self.computed}”" if self.computed else "its record gives nothing"
        return f"{self.place}: {given}, and {computed}"


class Tables(msgspec.Struct, frozen=True):
    """The figures in the tables of two pages, cell by cell, whatever else the pages say and in whatever order."""

    same: int
    unmatched: int
    """Figures of the given page in cells that the other has not."""
    differing: tuple[Difference, ...]


def parse_page(text: str) -> Page:
    """Take the inert blocks out of a page.

    Raises LevelfieldError: it carries no record, or more than one.
    """
    around, record = _take(text, _RECORD)
    if record is None:
        raise LevelfieldError(
            "The page carries no record: it is no report of Levelfield, or of a version whose pages could not be "
            "checked.",
            fix="Ask for the run's folder; `levelfield report RUN` writes the page anew.",
        )
    around, attested = _take(around, _STATEMENT)
    return Page(around=around, record=record, statement=attested)


def _take(text: str, start: str) -> tuple[str, str | None]:
    if text.count(start) > 1:
        raise LevelfieldError("The page carries two records or two statements.", fix="Ask for the run's folder.")
    before, found, rest = text.partition(start)
    if not found:
        return text, None
    block, found, after = rest.partition(_END)
    if not found:
        raise LevelfieldError("The page breaks off inside its record.", fix="Ask for it once more.", exit_code=1)
    if not _MARKUP.isdisjoint(block):  # a browser may end the block earlier, as at </SCRIPT>
        raise LevelfieldError(
            "The page's record or statement holds markup, which no page of Levelfield does.",
            fix="Ask for the run's folder.",
            exit_code=1,
        )
    return f"{before}{start}{_END}{after}", block


def differences(given: str, computed: str) -> tuple[int, tuple[Difference, ...]]:
    """Compare a page with the one that follows from its record.

    `given`, `computed`: HTML of both pages, without their inert blocks. The given one is not trusted.
    """
    if given == computed:
        return 0, ()
    ours, theirs = _TOKEN.findall(computed), _TOKEN.findall(given)
    start = 0
    while start < min(len(ours), len(theirs)) and ours[start] == theirs[start]:
        start += 1
    end = 0
    while end < min(len(ours), len(theirs)) - start and ours[-1 - end] == theirs[-1 - end]:
        end += 1
    pairs = list(_pairs(ours, theirs, start, end))
    named = sorted({index for index, _ in pairs[: 5 * MOST_NAMED]})
    places = _locations(ours, set(named))
    found = [
        Difference(
            place=places.get(index, "the page"),
            given=_words(other),
            computed=_words(ours[index]) if index < len(ours) - end else "",
        )
        for index, other in pairs[: 5 * MOST_NAMED]
    ]
    found.sort(key=lambda each: each.given.startswith("<") or each.computed.startswith("<"))  # figures before drawings
    return len(pairs), tuple(found[:MOST_NAMED])


def tables(given: str, computed: str) -> Tables:
    """Compare the figures in cells that have the same headings, row and column in both pages.

    A table whose headings or caption differ in the other page is compared with the next table there that has the
    same rows and columns.
    """
    ours, theirs = _cells(computed), _cells(given)
    renamed = _renamed(theirs, ours)
    same, unmatched, differing = 0, 0, []
    for title, cells in theirs.items():
        others = ours.get(renamed.get(title, title), {})
        for cell, figures in cells.items():
            expected = others.get(cell, [])
            if len(expected) != len(figures):
                unmatched += len(figures)
                continue
            for figure, other in zip(figures, expected, strict=True):
                same += figure == other
                if figure != other:
                    place = _joined((*title, *cell))
                    differing.append(Difference(place=place, given=figure, computed=other))
    return Tables(same=same, unmatched=unmatched, differing=tuple(differing[:MOST_NAMED]))


_Parts = tuple[str, ...]
_Cells = dict[_Parts, dict[_Parts, list[str]]]
"""By headings and caption of a table, then by row and column: the figures of a cell."""


def _renamed(theirs: _Cells, ours: _Cells) -> dict[_Parts, _Parts]:
    """Pair the tables that only one page has, in their order, with those of the same rows and columns."""
    left: dict[frozenset[_Parts], list[_Parts]] = {}
    for title, cells in ours.items():
        if title not in theirs:
            left.setdefault(frozenset(cells), []).append(title)
    found = {}
    for title, cells in theirs.items():
        alike = left.get(frozenset(cells), []) if title not in ours else []
        if alike:
            found[title] = alike.pop(0)
    return found


def _cells(text: str) -> _Cells:
    """Return the figures in the cells of a page's tables, by place."""
    found: _Cells = {}
    tracker = _Tracker()
    for token in _TOKEN.findall(text):
        tracker.read(token)
        if tracker.in_row and not token.startswith("<") and any(character.isdigit() for character in token):
            title, cell = tracker.parts
            found.setdefault(title, {}).setdefault(cell, []).append(_words(token))
    return found


def _pairs(ours: list[str], theirs: list[str], start: int, end: int) -> Iterator[tuple[int, str]]:
    """Yield the places where ours differs, and the text of theirs."""
    left, right = ours[start : len(ours) - end], theirs[start : len(theirs) - end]
    if len(left) == len(right):
        yield from ((start + index, right[index]) for index in range(len(left)) if left[index] != right[index])
    elif max(len(left), len(right)) <= _MOST_ALIGNED:
        for kind, low, high, other_low, other_high in difflib.SequenceMatcher(
            None, left, right, autojunk=False
        ).get_opcodes():
            if kind != "equal":
                if high - low == other_high - other_low:
                    yield from ((start + low + step, right[other_low + step]) for step in range(high - low))
                else:
                    yield start + low, "".join(right[other_low:other_high])
    else:
        yield start, "".join(right[:20])


def _words(token: str) -> str:
    return shortened(" ".join(html.unescape(token).replace("\u2060", "").split()), 100)


# ---- where a token stands, in a page of ours -------------------------------------------------------------------------

_HELD = {"h1": "heading", "h2": "heading", "h3": "part", "caption": "table", "summary": "part", "dt": "name"}
_CLOSES = re.compile(r"</(\w+)>")
_OPENS = re.compile(r"<(\w+)")


class _Tracker:
    """Follows a page tag by tag, and knows under which headings, row and column it is."""

    def __init__(self) -> None:
        self.held: dict[str, str] = {}
        self.open: dict[str, str] = {}
        """What is being read: kind to text so far."""
        self.columns: list[str] = []
        self.column = -1
        self.in_row = False

    def read(self, token: str) -> None:
        """Go on by one token: a tag, or text."""
        if match := _OPENS.match(token):
            self._opened(match[1], token)
        elif match := _CLOSES.match(token):
            self._closed(match[1])
        elif not token.startswith("<"):
            for kind in self.open:
                self.open[kind] += token

    def _opened(self, name: str, token: str) -> None:
        if name in _HELD:
            self.open[_HELD[name]] = ""
            if name in {"h1", "h2"}:
                self.held.clear()
        elif name == "table":
            self.columns, self.held["row"], self.held["name"] = [], "", ""
        elif name == "tr":
            self.column, self.in_row = -1, True
            self.held["row"] = ""
        elif name in {"td", "th"}:
            self.column += 1
            if 'scope="col"' in token:
                self.open["column"] = ""
            elif name == "th":
                self.open["row"] = ""
        elif 'class="plot-name"' in token:
            self.open["row"] = ""
            self.in_row = False

    def _closed(self, name: str) -> None:
        if name in _HELD and (text := self.open.pop(_HELD[name], None)) is not None:
            self.held[_HELD[name]] = _words(text)
        elif name in {"th", "svg"}:
            if name == "th" and (text := self.open.pop("column", None)) is not None:
                self.columns.append(_words(text))
            if (text := self.open.pop("row", None)) is not None:
                self.held["row"] = _words(text)
        elif name == "tr":
            self.in_row = False
        elif name == "table":
            self.held.pop("table", None)
            self.held.pop("row", None)
            self.columns = []
        elif name == "section":
            self.held.clear()

    @property
    def parts(self) -> tuple[_Parts, _Parts]:
        """Headings and caption of the table; row, name and column of the cell."""
        column = self.columns[self.column] if self.in_row and 0 <= self.column < len(self.columns) else ""
        row = self.open.get("row", "") and _words(self.open["row"])
        title = tuple(self.held.get(kind, "") for kind in ("heading", "part", "table"))
        return title, (self.held.get("row", ""), self.held.get("name", ""), row, column)

    @property
    def place(self) -> str:
        title, cell = self.parts
        return _joined((*title, *cell))


def _joined(parts: _Parts) -> str:
    return " › ".join(dict.fromkeys(part for part in parts if part)) or "the page's head"


def _locations(tokens: list[str], wanted: set[int]) -> dict[int, str]:
    found: dict[int, str] = {}
    tracker = _Tracker()
    for index, token in enumerate(tokens):
        tracker.read(token)
        if index in wanted:
            found[index] = tracker.place
            if len(found) == len(wanted):
                break
    return found
