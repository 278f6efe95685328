"""Every format: the answer on its first line, everything in it, and a stranger's text never more than text."""

import io
import json
import re
from typing import NamedTuple
from xml.etree import ElementTree as ET

import msgspec
import pytest
from rich.console import Console

from levelfield_fleet import formats
from levelfield_fleet.formats import SUFFIXES, WRITERS
from levelfield_fleet.types import Fleet, Node, NodeVerdict
from tests.fleet.samples import fine, fleet, hostile, large
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


def test_it_can_be_read_back() -> None:
    for verdict in (fleet(), hostile()):
        written = formats.json(verdict)
        assert list(json.loads(written))[:3] == ["answer", "exit_code", "format"]
    assert msgspec.json.decode(formats.json(fleet()), type=Fleet) == fleet()


def test_a_part_is_a_line() -> None:
    lines = formats.json(fleet()).splitlines()
    assert len(lines) > len(fleet().cells) + len(fleet().nodes)


KINDS = {"worse": "failure", "undecided": "skipped", "aside": "system-out", "fine": "system-out"}


def test_junit_has_no_success_that_is_none() -> None:
    tree = ET.fromstring(formats.junit(fleet()))
    kinds = {case.attrib["name"]: [child.tag for child in case] for case in tree.iter("testcase")}
    assert len(kinds) == len(fleet().nodes) + len(fleet().wrong) == int(tree.attrib["tests"])
    for node in fleet().nodes:
        assert kinds[node.name] == [KINDS[node.outcome]]
    worse = sum(node.outcome == "worse" for node in fleet().nodes)
    assert int(tree.attrib["failures"]) == worse + len(fleet().wrong)


def test_a_node_without_a_record_is_an_error() -> None:
    silent = Node("gone", "", NodeVerdict.UNDECIDED, "undecided", "no record of it can be read")
    tree = ET.fromstring(formats.junit(msgspec.structs.replace(fleet(), nodes=(silent,), wrong=())))
    assert (tree.attrib["tests"], tree.attrib["errors"]) == ("1", "1")


def test_a_failure_says_in_which_case_and_how_much() -> None:
    tree = ET.fromstring(formats.junit(fleet()))
    (message,) = (
        case[0].attrib["message"] for case in tree.iter("testcase") if case[0].attrib.get("type") == NodeVerdict.SLOW
    )
    assert "onnxruntime/model-2/memory" in message
    assert "12 % more memory" in message.replace("\u00a0", " ")


def test_a_comment_has_room_for_a_large_fleet() -> None:
    written = formats.markdown(large(1000, 30))
    assert len(written) < 65_536
    assert "more rows" in written or written.count("| `node-") < formats.MOST_WRITTEN * 2


def test_rich_markup_is_printed_as_it_stands() -> None:
    note = "[bold red]owned[/] [link=https://example.org]x[/link] :skull:"
    stream = io.StringIO()
    formats.show(
        msgspec.structs.replace(fleet(), answer=note, notes=(note,), method=note),
        Console(file=stream, width=200, force_terminal=True, color_system=None),
    )
    assert stream.getvalue().count(note) == 3


def test_the_answer_is_one_line_and_a_large_fleet_is_cut() -> None:
    many = large(1000, 30)
    lines = formats.terminal(many).splitlines()
    assert lines[0] == many.answer
    assert len(lines) < 400
    assert any("more rows: --format html shows them" in line for line in lines)


NAME = r"[a-zA-Z_:][a-zA-Z0-9_:]*"
LABEL = re.compile(r'([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\["\\n])*)"(?:,|$)')
SAMPLE = re.compile(rf"({NAME})\{{(.*)\}} (-?\d+(?:\.\d+)?(?:e[-+]\d+)?|NaN|[-+]Inf)")
METADATA = re.compile(rf"# (TYPE|UNIT|HELP) ({NAME}) (.+)")
ESCAPES = {"\\\\": "\\", '\\"': '"', "\\n": "\n"}


class Sample(NamedTuple):
    labels: dict[str, str]
    value: float


def parse(text: str) -> dict[str, list[Sample]]:
    """Read an exposition; whatever the specification does not allow is an error."""
    assert text.endswith("# EOF\n")
    found: dict[str, list[Sample]] = {}
    seen: set[tuple[str, str]] = set()
    current = ""
    for line in text.splitlines()[:-1]:
        if line.startswith("#"):
            matched = METADATA.fullmatch(line)
            assert matched is not None, line
            kind, name, value = matched.groups()
            if kind == "TYPE":
                assert name not in found, "a family is interleaved, or there twice"
                assert value == "gauge"
                found[name], current = [], name
            assert name == current
            assert not found[name], "metadata behind a sample"
            assert kind != "UNIT" or name.endswith(f"_{value}")
            assert kind != "HELP" or not re.search(r'\\(?![\\n"])', value)
            continue
        matched = SAMPLE.fullmatch(line)
        assert matched is not None, line
        name, inside, number = matched.groups()
        assert name == current
        assert (name, inside) not in seen, "a metric is there twice"
        seen.add((name, inside))
        labels = {key: re.sub(r"\\.", lambda one: ESCAPES[one[0]], text) for key, text in LABEL.findall(inside)}
        assert LABEL.sub("", inside) == ""
        found[name].append(Sample(labels, float(number)))
    return found


@pytest.mark.parametrize(
    "verdict", [fleet(), fine(), hostile(), large(100, 30)], ids=["all", "fine", "hostile", "many"]
)
def test_it_is_valid(verdict: Fleet) -> None:
    text = formats.openmetrics(verdict)
    text.encode()
    assert len(parse(text)["levelfield_node_verdict"]) == len(verdict.nodes) * len(NodeVerdict)


def test_a_reader_of_the_test_refuses_what_is_wrong() -> None:
    for wrong in ("a 1\n", "# EOF\nx", '# TYPE a gauge\na{b="c} 1\n# EOF\n', "# TYPE a_s gauge\n# UNIT a_s m\n# EOF\n"):
        with pytest.raises(AssertionError):
            parse(wrong)


def test_values_are_those_of_the_verdict() -> None:
    found = parse(formats.openmetrics(fleet()))
    assert [sample.value for sample in found["levelfield_fleet_exit_code"]] == [1]
    assert {sample.labels["verdict"]: sample.value for sample in found["levelfield_fleet_nodes"]} == {
        verdict.value: 1 for verdict in NodeVerdict
    }
    (now,) = (
        sample.labels["verdict"]
        for sample in found["levelfield_node_verdict"]
        if sample.labels["node"] == "node-0002" and sample.value == 1
    )
    assert now == "slow"
    ratios = {(each.node, each.result): each.ratio for each in fleet().cells if each.ratio is not None}
    assert {
        (sample.labels["node"], sample.labels["result"]): sample.value for sample in found["levelfield_node_cost_ratio"]
    } == {key: estimate.value for key, estimate in ratios.items()}
    assert sum(sample.value for sample in found["levelfield_node_wrong_answers"]) == 1


def test_what_is_not_known_has_no_sample() -> None:
    cells = tuple(msgspec.structs.replace(cell, ratio=None) for cell in fleet().cells)
    found = parse(formats.openmetrics(msgspec.structs.replace(fleet(), cells=cells)))
    assert found["levelfield_node_cost_ratio"] == []
