"""The comparison in a terminal."""

import io

import msgspec
from rich.console import Console

from suite.compare.formats import terminal
from tests.compare.formats.samples import upgrade


def test_rich_markup_is_printed_as_it_stands() -> None:
    note = "[bold red]owned[/] [link=https://example.org]x[/link] :skull:"
    stream = io.StringIO()
    terminal.show(
        msgspec.structs.replace(upgrade(), answer=note, notes=(note,)),
        Console(file=stream, width=200, force_terminal=True, color_system=None),
    )
    assert stream.getvalue().count(note) == 2
