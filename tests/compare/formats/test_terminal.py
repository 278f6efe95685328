"""The comparison in a terminal."""

import io
import re

import msgspec
from rich.console import Console

from levelfield.compare.formats import terminal
from levelfield.compare.types import Row
from tests.compare.formats.samples import upgrade


def test_rich_markup_is_printed_as_it_stands() -> None:
    note = "[bold red]owned[/] [link=https://example.org]x[/link] :skull:"
    stream = io.StringIO()
    terminal.show(
        msgspec.structs.replace(upgrade(), answer=note, notes=(note,)),
        Console(file=stream, width=200, force_terminal=True, color_system=None),
    )
    assert stream.getvalue().count(note) == 2


def test_eighty_columns_hold_notes_as_footnotes_and_what_all_share_in_the_title() -> None:
    def shown(rows: tuple[Row, ...]) -> str:
        stream = io.StringIO()
        terminal.show(msgspec.structs.replace(upgrade(), rows=rows), Console(file=stream, width=80, color_system=None))
        return stream.getvalue()

    (first, second, *_) = upgrade().rows
    alike = tuple(
        msgspec.structs.replace(row, reason="from one run a side", confidence=None) for row in (first, second)
    )
    assert "): from one run a side\n" in re.sub(" +\n", "\n", shown(alike))
    other = msgspec.structs.replace(second, reason="on other hardware", confidence=None)
    text = shown((alike[0], other))
    assert "[1] from one run a side" in text
    assert "[2] on other hardware" in text
    assert max(map(len, text.splitlines()[1:])) <= 80
