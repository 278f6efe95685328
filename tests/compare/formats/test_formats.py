"""Every format: the answer on its first line, everything in it, and a stranger's text never more than text."""

import base64
import hashlib
import io
import json
import re
from functools import cache
from typing import Any
from xml.etree import ElementTree as ET

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from suite.compare import phrases
from suite.compare.comparison import compare_runs
from suite.compare.formats import SUFFIXES, WRITERS, html, junit, terminal
from suite.compare.types import Comparison, Verdict
from suite.record.schema import Failure
from tests.compare.runs import reduced, run, side, with_machine, with_parity
from tests.report.hostile import PAYLOAD, make_hostile
from tests.report.test_page import Page


@cache
def upgrade() -> Comparison:
    """One of everything: slower, undecided, failed, moved, changed."""
    options: dict[str, Any] = {
        "backends": ["jax", "onnxruntime", "torch", "openvino"],
        "scenarios": ["latency", "memory"],
    }
    crash = Failure(stage="load", kind="crashed", message="It ended with signal 9.")
    new = [
        with_machine(
            run(f"b-{seed}", seed, slower={"onnxruntime": 1.4}, failures={("jax", "mlp"): crash}, **options),
            kernel={"release": "6.2"},
        )
        for seed in range(10, 14)
    ]
    new = [
        with_parity(each, "torch", lambda parity: msgspec.structs.replace(parity, output_sha256="0" * 64))
        for each in new
    ]
    return compare_runs(side("a", 4, **options), [reduced(each) for each in new])


@cache
def hostile() -> Comparison:
    old = make_hostile(variants=False)
    new = msgspec.structs.replace(make_hostile(variants=False), id=f"other{PAYLOAD}")
    new = with_machine(new, **{f"kernel{PAYLOAD}": {f"release{PAYLOAD}": f"{PAYLOAD}2"}})
    return compare_runs([reduced(old)], [reduced(new)])


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


def test_json_says_all_of_it_again() -> None:
    found = json.loads(WRITERS["json"](upgrade()))
    assert next(iter(found)) == "answer"
    assert found["exit_code"] == 1
    assert len(found["rows"]) == len(upgrade().rows)
    assert {row["verdict"] for row in found["rows"]} == {row.verdict.value for row in upgrade().rows}
    assert found["rows"][0]["id"] == upgrade().rows[0].id
    assert found["old"]["runs"][0]["sha256"] == "0" * 64
    changed = [
        change["new"] for group in json.loads(WRITERS["json"](hostile()))["changes"] for change in group["changes"]
    ]
    assert f"{PAYLOAD}2" in changed


def test_junit_has_no_success_that_is_none() -> None:
    tree = ET.fromstring(junit.write(upgrade()))
    cases = list(tree.iter("testcase"))
    assert len(cases) == len(upgrade().rows) + len(upgrade().drifts) == int(tree.attrib["tests"])
    kinds = {case.attrib["name"]: [child.tag for child in case] for case in cases}
    for row in upgrade().rows:
        (kind,) = kinds[row.id]
        assert (
            kind
            == {"worse": "failure", "undecided": "skipped", "aside": "system-out", "fine": "system-out"}[row.outcome]
        )
    worse = sum(row.outcome == "worse" for row in upgrade().rows)
    assert int(tree.attrib["failures"]) == worse + sum(drift.outcome == "worse" for drift in upgrade().drifts) > worse
    missing = compare_runs([reduced(run("a"))], [reduced(run("b", backends=["jax"]))])
    tree = ET.fromstring(junit.write(missing))
    assert tree.attrib["errors"] == "1"


def test_the_page_is_one_file_that_asks_for_nothing() -> None:
    for comparison in (upgrade(), hostile()):
        written = html.write(comparison)
        page = Page(written)
        assert not page.all("script") + page.all("img") + page.all("iframe") + page.all("form")
        for tag, attributes in page.elements:
            assert not any(name.startswith("on") or name == "style" for name in attributes), tag
            assert str(attributes.get("href", "#")).startswith(("#", "data:,"))
        (policy,) = (
            meta["content"] for meta in page.all("meta") if meta.get("http-equiv") == "Content-Security-Policy"
        )
        digest = base64.b64encode(hashlib.sha256(page.data["style"].encode()).digest()).decode()
        assert policy == (
            f"default-src 'none'; style-src 'sha256-{digest}'; img-src data:; base-uri 'none'; form-action 'none'"
        )
        ids = [attributes["id"] for _, attributes in page.elements if "id" in attributes]
        assert len(ids) == len(set(ids))
        assert {str(link["href"])[1:] for link in page.all("a")} <= set(ids)
        assert "{{7*7}}" in page.text or comparison is upgrade()
        assert all(cell.get("scope") in {"row", "col"} for cell in page.all("th"))


def test_rich_markup_is_printed_as_it_stands() -> None:
    note = "[bold red]owned[/] [link=https://example.org]x[/link] :skull:"
    stream = io.StringIO()
    terminal.show(
        msgspec.structs.replace(upgrade(), answer=note, notes=(note,)),
        Console(file=stream, width=200, force_terminal=True, color_system=None),
    )
    assert stream.getvalue().count(note) == 2


@given(st.text())
def test_no_text_leaves_its_line_or_its_table(text: str) -> None:
    assert len(phrases.clean(text).splitlines()) <= 1
    ET.fromstring(ET.tostring(ET.Element("a", b=junit._text(text))))


def test_files_have_a_format_by_their_ending() -> None:
    assert set(SUFFIXES.values()) == set(WRITERS)
