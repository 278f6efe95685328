"""Every format: the answer on its first line, everything in it, and a stranger's text never more than text."""

import re
from xml.etree import ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st

from levelfield.compare import phrases
from levelfield.compare.formats import SUFFIXES, WRITERS, junit
from levelfield.compare.types import Verdict
from tests.compare.formats.samples import hostile, upgrade
from tests.report.hostile import PAYLOAD
from tests.report.test_html import Page


def test_the_comparison_under_test_has_everything() -> None:
    assert {row.verdict for row in upgrade().rows} >= {Verdict.SLOWER, Verdict.FAILED, Verdict.INCONCLUSIVE}
    assert upgrade().exit_code == 1
    assert hostile().rows
    assert PAYLOAD in "".join(change.new for group in hostile().changes for change in group.changes)


@pytest.mark.parametrize("name", WRITERS)
def test_the_answer_comes_first(name: str) -> None:
    written = WRITERS[name](upgrade())
    answer = re.sub(r"\s", " ", upgrade().answer)
    plain = re.sub(r"[\\\u2060]|&#?\w+;", "", written.replace("&lt;", "<"))
    first = plain.splitlines()[0] if name != "html" else Page(written).text.removeprefix(" Skip to the verdict ")
    assert re.sub(r"\s", " ", answer)[:60] in re.sub(r"\s", " ", first)
    if name == "html":
        assert written.index("<title>Worse: ") < written.index("<body>")
        assert first.index("Worse: ") < 120  # after the name of the page and of the sides


@pytest.mark.parametrize("name", WRITERS)
@pytest.mark.parametrize("what", ["onnxruntime", "signal 9", "6.1.0-37-amd64", "6.2", "inconclusive", "slower"])
def test_what_a_reader_must_find_is_in_every_format(name: str, what: str) -> None:
    if name == "junit" and what.startswith("6."):
        pytest.skip("JUnit has no place for what changed")
    assert what in WRITERS[name](upgrade()).replace("\\", "")


@pytest.mark.parametrize("name", WRITERS)
def test_no_format_lets_a_stranger_s_text_become_more(name: str) -> None:
    written = WRITERS[name](hostile())
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u202e\ud800-\udfff]", written)
    if name == "markdown":
        written = re.sub(r"`[^`\n]*`", "", written)  # code: nothing in it is markup
    if name in ("html", "markdown", "junit"):
        assert not re.search(r"<(script|img|svg onload)", written)


@given(st.text())
def test_no_text_leaves_its_line_or_its_table(text: str) -> None:
    assert len(phrases.clean(text).splitlines()) <= 1
    ET.fromstring(ET.tostring(ET.Element("a", b=junit._text(text))))


def test_files_have_a_format_by_their_ending() -> None:
    assert set(SUFFIXES.values()) == set(WRITERS)
