"""The verdict on a fleet in a terminal."""

import io

import msgspec
from levelfield_fleet.formats import terminal
from rich.console import Console
from tests.fleet.samples import fleet, large


def test_rich_markup_is_printed_as_it_stands() -> None:
    note = "[bold red]owned[/] [link=https://example.org]x[/link] :skull:"
    stream = io.StringIO()
    terminal.show(
        msgspec.structs.replace(fleet(), answer=note, notes=(note,), method=note),
        Console(file=stream, width=200, force_terminal=True, color_system=None),
    )
    assert stream.getvalue().count(note) == 3


def test_the_answer_is_one_line_and_a_large_fleet_is_cut() -> None:
    many = large(1000, 30)
    lines = terminal.plain(many).splitlines()
    assert lines[0] == many.answer
    assert len(lines) < 400
    assert any("more rows: --format html shows them" in line for line in lines)
