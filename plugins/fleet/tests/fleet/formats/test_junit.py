"""The verdict on a fleet as JUnit XML."""

from xml.etree import ElementTree as ET

import msgspec
from levelfield_fleet.formats import junit
from levelfield_fleet.types import Node, NodeVerdict
from tests.fleet.samples import fleet

KINDS = {"worse": "failure", "undecided": "skipped", "aside": "system-out", "fine": "system-out"}


def test_junit_has_no_success_that_is_none() -> None:
    tree = ET.fromstring(junit.write(fleet()))
    kinds = {case.attrib["name"]: [child.tag for child in case] for case in tree.iter("testcase")}
    assert len(kinds) == len(fleet().nodes) + len(fleet().wrong) == int(tree.attrib["tests"])
    for node in fleet().nodes:
        assert kinds[node.name] == [KINDS[node.outcome]]
    worse = sum(node.outcome == "worse" for node in fleet().nodes)
    assert int(tree.attrib["failures"]) == worse + len(fleet().wrong)


def test_a_node_without_a_record_is_an_error() -> None:
    silent = Node("gone", "", NodeVerdict.UNDECIDED, "undecided", "no record of it can be read")
    tree = ET.fromstring(junit.write(msgspec.structs.replace(fleet(), nodes=(silent,), wrong=())))
    assert (tree.attrib["tests"], tree.attrib["errors"]) == ("1", "1")


def test_a_failure_says_in_which_case_and_how_much() -> None:
    tree = ET.fromstring(junit.write(fleet()))
    (message,) = (
        case[0].attrib["message"] for case in tree.iter("testcase") if case[0].attrib.get("type") == NodeVerdict.SLOW
    )
    assert "onnxruntime/model-2/memory" in message
    assert "12 % more memory" in message.replace("\u00a0", " ")
