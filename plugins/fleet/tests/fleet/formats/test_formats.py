"""Every format: the answer on its first line, everything in it, and a stranger's text never more than text."""

import re

import pytest
from levelfield_fleet.formats import SUFFIXES, WRITERS
from levelfield_fleet.types import NodeVerdict
from tests.fleet.samples import fine, fleet, hostile

from tests.report.hostile import PAYLOAD
from tests.report.test_html import Page

ONLY_NUMBERS = ("openmetrics",)
"""Formats without sentences."""


def test_the_verdict_under_test_has_everything() -> None:
    assert {node.verdict for node in fleet().nodes} == set(NodeVerdict)
    assert {cell.verdict for cell in fleet().cells} == set(NodeVerdict)
    assert PAYLOAD in hostile().nodes[0].name


@pytest.mark.parametrize("name", [name for name in WRITERS if name not in ONLY_NUMBERS])
def test_the_answer_comes_first(name: str) -> None:
    written = WRITERS[name](fleet())
    first = Page(written).text if name == "html" else re.sub(r"[\\\u2060]", "", written.splitlines()[0])
    assert fleet().answer in first
    if name == "html":
        assert f"<title>{fleet().answer}" in written


@pytest.mark.parametrize("name", [name for name in WRITERS if name not in ONLY_NUMBERS])
@pytest.mark.parametrize(
    "what",
    [*(verdict.value for verdict in NodeVerdict if verdict is not NodeVerdict.FINE), "node-0003"],
)
def test_what_a_reader_must_find_is_in_every_format(name: str, what: str) -> None:
    assert what in WRITERS[name](fleet()).replace("\\", "")


@pytest.mark.parametrize("name", ["terminal", "markdown", "json", "html"])
@pytest.mark.parametrize("what", ["driver", "580.95", "570.12", "12", "node-9999 has no record"])
def test_what_differs_and_what_was_left_out_is_said(name: str, what: str) -> None:
    assert what in WRITERS[name](fleet()).replace("\\", "")


@pytest.mark.parametrize("name", WRITERS)
def test_a_fleet_in_which_nothing_is_wrong(name: str) -> None:
    written = WRITERS[name](fine())
    assert "fine" in written
    for verdict in ("slow in", "computes wrongly in"):
        assert verdict not in written


@pytest.mark.parametrize("name", WRITERS)
def test_no_format_lets_a_stranger_s_text_become_more(name: str) -> None:
    written = WRITERS[name](hostile())
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u202e\ud800-\udfff]", written)
    if name == "markdown":
        written = re.sub(r"`[^`\n]*`", "", written)  # code: nothing in it is markup
    if name in ("html", "markdown", "junit"):
        assert not re.search(r"<(script>window|img|svg onload)", written)


def test_files_have_a_format_by_their_ending() -> None:
    assert set(SUFFIXES.values()) == set(WRITERS)
