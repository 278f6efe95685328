"""Text of others on its way to a terminal."""

import io
import re
import subprocess
import sys

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.text import Text

from levelfield import analysis, terminals
from levelfield.record.schema import Run
from levelfield.share import card
from levelfield.terminals import LONGEST_OUTPUT, tool_text
from tests.records_builder import make_run

HOSTILE = "name\x1b[2J\u202egnp.exe"
SHOWN = "name\ufffd[2J\ufffdgnp.exe"


def test_a_console_prints_no_control_characters_but_its_own_styles(capsys: pytest.CaptureFixture[str]) -> None:
    terminals.console().print(Text(HOSTILE, "bold"))
    assert capsys.readouterr().out.strip() == SHOWN


def test_a_name_with_colons_becomes_no_picture(capsys: pytest.CaptureFixture[str]) -> None:
    terminals.console().print(":white_check_mark: Verified")
    assert capsys.readouterr().out == ":white_check_mark: Verified\n"


def test_a_name_makes_no_second_line(capsys: pytest.CaptureFixture[str]) -> None:
    terminals.say(terminals.console(), "Report: a\nVerified by alice")
    assert capsys.readouterr().out == "Report: a\N{REPLACEMENT CHARACTER}Verified by alice\n"


def test_a_stream_makes_printable_what_is_written() -> None:
    stream = io.StringIO()
    terminals.PrintableText(stream).write(HOSTILE)
    assert stream.getvalue() == SHOWN


LIVE = (
    "@somebody", "#123", "org/repo#12", "org/repo!12", "https://example.org", "www.example.org", "<b>x</b>", "![x](y)",
    "[x](y)", "`x`", "**x**", "a|b", "$x$", "&lt;", "~~x~~", "_x_", "mailto:a@b.org", "a@example.org", "GH-12",
    "# heading", "\\@somebody", "\\#123",
)  # fmt: skip


@pytest.mark.parametrize("text", LIVE)
def test_it_means_nothing_there(text: str) -> None:
    written = terminals.markdown_text(text)
    assert written != text
    assert not re.search(r"(?<!\\)(?:\\\\)*[`*\[\]|~<>$]", written)
    # Mentions, issues and addresses are looked for once backslashes are gone.
    assert not re.search(r"[@#!]\w|://\w|www\.|GH-\d|mailto:\w", written.replace("\\", ""), re.IGNORECASE)
    assert not written.startswith("#")
    assert "`" not in terminals.markdown_code(text)[1:-1]
    assert not re.search(r"(?<!\\)\|", terminals.markdown_code(text))


@given(st.text())
def test_no_text_leaves_its_line_or_its_table(text: str) -> None:
    for written in (terminals.markdown_text(text), terminals.markdown_code(text)):
        assert len(written.splitlines()) <= 1
        assert len(written) < 6000


@pytest.mark.parametrize("live", ["@octocat", "https://evil.example", "#1", "org/repo#1", "www.evil.example"])
def test_a_card_mentions_nobody_and_links_nowhere(live: str) -> None:
    plain = make_run(models=["mlp"], backends=["jax", "torch"], max_calls=5)
    content = msgspec.json.encode(msgspec.structs.replace(plain, id=live, started=live))
    run = msgspec.json.decode(content.replace(b'"jax"', f'"jax {live}"'.encode()), type=Run)
    written = card.markdown(run, analysis.analyse(run))
    assert "&NoBreak;" in written
    assert live not in written.replace("\\", "")


def test_a_text_is_one_printable_line_without_uuids() -> None:
    assert (
        tool_text(" GPU-f9ba66fc-a7f5-94c5-da19-019ef2f9c665\n\x1b[2J is lost ")
        == "GPU-… \N{REPLACEMENT CHARACTER}[2J is lost"
    )
    assert len(tool_text("a" * 1000)) == LONGEST_OUTPUT


TALKS = """import threading, time
from levelfield import terminals
terminals.guard_streams()
def talk():
    while True: print("x" * 200, flush=True)
for _ in range(3): threading.Thread(target=talk, daemon=True).start()
time.sleep(0.2)
"""


def test_a_thread_that_still_writes_does_not_change_how_the_process_ends() -> None:
    for _ in range(3):
        done = subprocess.run([sys.executable, "-c", TALKS], capture_output=True, text=True, check=False)
        assert (done.returncode, done.stderr) == (0, "")
