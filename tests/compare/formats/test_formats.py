"""Every format: the answer on its first line, everything in it, and a stranger's text never more than text."""

import io
import json
import re
from xml.etree import ElementTree as ET

import msgspec
import pytest
from rich.console import Console

from levelfield.compare import tables
from levelfield.compare.comparison import compare_runs
from levelfield.compare.formats import WRITERS, junit, terminal
from levelfield.compare.types import Row, Verdict
from levelfield.report.tables import Column
from tests.compare.formats.samples import hostile, upgrade
from tests.compare.runs import reduced, run
from tests.report.hostile import PAYLOAD
from tests.report.test_html import Page


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
@pytest.mark.parametrize("what", ["onnxruntime", "signal 9", "6.1.0-37-amd64", "6.2", "not decided", "slower"])
def test_what_a_reader_must_find_is_in_every_format(name: str, what: str) -> None:
    if name == "junit" and what.startswith("6."):
        pytest.skip("JUnit has no place for what changed")
    assert what in WRITERS[name](upgrade()).replace("\\", "")


@pytest.mark.parametrize("name", ["terminal", "markdown", "html"])
def test_a_column_that_is_added_is_in_every_format(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    added: Column[tables.Judged] = Column("Made from", lambda it: f"{it.row.new_replicates} runs each")
    monkeypatch.setattr(tables, "CASES", (*tables.CASES, added))
    written = WRITERS[name](upgrade()).lower()
    assert "made from" in written
    assert written.count(" runs each") == len(upgrade().rows)


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
    assert (found["exit_code"], len(found["rows"])) == (1, len(upgrade().rows))
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


def test_many_results_that_one_side_lacks_are_counted_by_arm() -> None:
    many = run("a", 1, backends=["jax", "torch", "onnxruntime", "openvino"], models=["mlp", "resnet50", "bert"])
    old, new = many, run("b", 2, backends=["jax"], models=["mlp"], scenarios=["latency"])
    comparison = compare_runs([reduced(old)], [reduced(new)])
    lacking = {row.old_arm for row in comparison.rows if row.verdict is Verdict.MISSING}
    shown = terminal.plain(comparison)
    assert not re.search(r"^ torch .* missing", shown, re.MULTILINE)
    counted = dict(re.findall(r"(\S+) \((\d+) cases?\)", shown))
    assert counted.keys() == lacking
    assert sum(map(int, counted.values())) == sum(row.verdict is Verdict.MISSING for row in comparison.rows)
