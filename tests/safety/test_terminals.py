"""Text of others on its way to a terminal."""

import io

import pytest
from rich.text import Text

from levelfield.safety import terminals

HOSTILE = "name\x1b[2J\u202egnp.exe"
SHOWN = "name\ufffd[2J\ufffdgnp.exe"


def test_a_console_prints_no_control_characters_but_its_own_styles(capsys: pytest.CaptureFixture[str]) -> None:
    terminals.console().print(Text(HOSTILE, "bold"))
    assert capsys.readouterr().out.strip() == SHOWN


def test_a_stream_makes_printable_what_is_written() -> None:
    stream = io.StringIO()
    terminals.PrintableText(stream).write(HOSTILE)
    assert stream.getvalue() == SHOWN
