"""Texts of strangers in a comment or a README: shown, and nothing else."""

import re

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from levelfield import analysis
from levelfield.record.schema import Run
from levelfield.safety import markdown
from levelfield.share import card
from tests.records_builder import make_run

LIVE = (
    "@somebody", "#123", "org/repo#12", "org/repo!12", "https://example.org", "www.example.org", "<b>x</b>", "![x](y)",
    "[x](y)", "`x`", "**x**", "a|b", "$x$", "&lt;", "~~x~~", "_x_", "mailto:a@b.org", "a@example.org", "GH-12",
    "# heading", "\\@somebody", "\\#123",
)  # fmt: skip


@pytest.mark.parametrize("text", LIVE)
def test_it_means_nothing_there(text: str) -> None:
    written = markdown.text(text)
    assert written != text
    assert not re.search(r"(?<!\\)(?:\\\\)*[`*\[\]|~<>$]", written)
    # Mentions, issues and addresses are looked for once backslashes are gone.
    assert not re.search(r"[@#!]\w|://\w|www\.|GH-\d|mailto:\w", written.replace("\\", ""), re.IGNORECASE)
    assert not written.startswith("#")
    assert "`" not in markdown.code(text)[1:-1]
    assert not re.search(r"(?<!\\)\|", markdown.code(text))


@given(st.text())
def test_no_text_leaves_its_line_or_its_table(text: str) -> None:
    for written in (markdown.text(text), markdown.code(text)):
        assert len(written.splitlines()) <= 1
        assert len(written) < 6000


@pytest.mark.parametrize("live", ["@octocat", "https://evil.example", "#1", "org/repo#1", "www.evil.example"])
def test_a_card_mentions_nobody_and_links_nowhere(live: str) -> None:
    plain = make_run(models=["mlp"], backends=["jax", "torch"], max_calls=5)
    content = msgspec.json.encode(msgspec.structs.replace(plain, id=live, started=live))
    run = msgspec.json.decode(content.replace(b'"jax"', f'"jax {live}"'.encode()), type=Run)
    written = card.markdown(run, analysis.analyse(run))
    assert "\u2060" in written
    assert live not in written.replace("\\", "")
