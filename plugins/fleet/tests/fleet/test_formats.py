"""Every format: the answer on its first line, everything in it, and a stranger's text never more than text."""

import io
import json
import re
from collections.abc import Sequence
from xml.etree import ElementTree as ET

import msgspec
import pytest
from prometheus_client.openmetrics.parser import text_string_to_metric_families
from prometheus_client.samples import Sample
from rich.console import Console

from levelfield_fleet import formats
from levelfield_fleet.formats import SUFFIXES, WRITERS
from levelfield_fleet.types import Fleet, Node, NodeVerdict
from tests.fleet.samples import fine, fleet, hostile, large
from tests.report.test_html import Page

WITH_SENTENCES = [name for name in WRITERS if name != "openmetrics"]
KINDS = {"worse": "failure", "undecided": "skipped", "aside": "system-out", "fine": "system-out"}


@pytest.mark.parametrize("name", WITH_SENTENCES)
def test_the_answer_comes_first_and_what_a_reader_must_find_is_there(name: str) -> None:
    written = WRITERS[name](fleet())
    first = Page(written).text if name == "html" else re.sub(r"[\\\u2060]", "", written.splitlines()[0])
    assert fleet().answer in first
    plain = written.replace("\\", "")
    for verdict in set(NodeVerdict) - {NodeVerdict.FINE}:
        assert verdict.value in plain
    assert "node-0003" in plain
    for what in ("driver", "580.95", "570.12", "12", "node-9999 has no record") if name != "junit" else ():
        assert what in plain


@pytest.mark.parametrize("name", WRITERS)
def test_a_fleet_in_which_nothing_is_wrong(name: str) -> None:
    written = WRITERS[name](fine())
    assert "fine" in written
    assert not re.search("(slow|computes wrongly) in", written)


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


def test_json_can_be_read_back_and_a_part_is_a_line() -> None:
    written = formats.json(fleet())
    assert list(json.loads(written))[:3] == ["answer", "exit_code", "format"]
    assert msgspec.json.decode(written, type=Fleet) == fleet()
    assert len(written.splitlines()) > len(fleet().cells) + len(fleet().nodes)


def test_junit_has_no_success_that_is_none() -> None:
    silent = Node("gone", "", NodeVerdict.UNDECIDED, "undecided", "no record of it can be read")
    verdict = msgspec.structs.replace(fleet(), nodes=(*fleet().nodes, silent))
    tree = ET.fromstring(formats.junit(verdict))
    cases = {case.attrib["name"]: case[0] for case in tree.iter("testcase")}
    assert len(cases) == len(verdict.nodes) + len(verdict.wrong) == int(tree.attrib["tests"])
    for node in fleet().nodes:
        assert cases[node.name].tag == KINDS[node.outcome]
    assert cases["gone"].tag == "error"
    worse = sum(node.outcome == "worse" for node in fleet().nodes)
    assert int(tree.attrib["failures"]) == worse + len(fleet().wrong)
    message = cases["node-0002"].attrib["message"].replace("\u00a0", " ")
    assert "onnxruntime/model-2/memory" in message
    assert "12 % more memory" in message


def test_a_comment_has_room_for_a_large_fleet() -> None:
    assert len(formats.markdown(large(1000, 30))) < 65_536


def test_rich_markup_is_printed_as_it_stands() -> None:
    note = "[bold red]owned[/] [link=https://example.org]x[/link] :skull:"
    stream = io.StringIO()
    formats.show(
        msgspec.structs.replace(fleet(), answer=note, notes=(note,), method=note),
        Console(file=stream, width=200, force_terminal=True, color_system=None),
    )
    assert stream.getvalue().count(note) == 3


def test_in_a_terminal_the_answer_is_one_line_and_a_large_fleet_is_cut() -> None:
    many = large(1000, 30)
    lines = formats.terminal(many).splitlines()
    assert lines[0] == many.answer
    assert len(lines) < 400
    assert any("more rows: --format html shows them" in line for line in lines)


def read(verdict: Fleet) -> dict[str, Sequence[Sample]]:
    """Read OpenMetrics text as Prometheus's own client does, which is strict; and what it lets pass."""
    text = formats.openmetrics(verdict)
    text.encode()
    families = {family.name: family for family in text_string_to_metric_families(text)}  # type: ignore[no-untyped-call]
    assert all(family.type == "gauge" and family.name.endswith(family.unit) for family in families.values())
    samples = [line for line in text.splitlines() if not line.startswith("#")]
    assert len({line.rpartition(" ")[0] for line in samples}) == len(samples), "a metric is there twice"
    return {name: family.samples for name, family in families.items()}


@pytest.mark.parametrize("verdict", [fine(), hostile(), large(100, 30)], ids=["fine", "hostile", "many"])
def test_openmetrics_is_valid(verdict: Fleet) -> None:
    assert len(read(verdict)["levelfield_node_verdict"]) == len(verdict.nodes) * len(NodeVerdict)


def test_openmetrics_has_the_values_of_the_verdict_and_none_for_what_is_not_known() -> None:
    found = read(fleet())
    assert [sample.value for sample in found["levelfield_fleet_exit_code"]] == [1]
    assert {sample.labels["verdict"]: sample.value for sample in found["levelfield_fleet_nodes"]} == {
        verdict.value: 1 for verdict in NodeVerdict
    }
    assert [
        sample.labels["verdict"]
        for sample in found["levelfield_node_verdict"]
        if sample.labels["node"] == "node-0002" and sample.value == 1
    ] == ["slow"]
    assert {
        (sample.labels["node"], sample.labels["result"]): sample.value for sample in found["levelfield_node_cost_ratio"]
    } == {(cell.node, cell.result): cell.ratio.value for cell in fleet().cells if cell.ratio is not None}
    assert sum(sample.value for sample in found["levelfield_node_wrong_answers"]) == 1
    unknown = tuple(msgspec.structs.replace(cell, ratio=None) for cell in fleet().cells)
    assert not read(msgspec.structs.replace(fleet(), cells=unknown))["levelfield_node_cost_ratio"]
