"""The verdict on a fleet as OpenMetrics text: read back by a strict reader of what the specification allows."""

import re
from typing import NamedTuple

import msgspec
import pytest
from levelfield_fleet.formats import openmetrics
from levelfield_fleet.types import Fleet, NodeVerdict
from tests.fleet.samples import fine, fleet, hostile, large

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
    text = openmetrics.write(verdict)
    text.encode()
    assert len(parse(text)["levelfield_node_verdict"]) == len(verdict.nodes) * len(NodeVerdict)


def test_a_reader_of_the_test_refuses_what_is_wrong() -> None:
    for wrong in ("a 1\n", "# EOF\nx", '# TYPE a gauge\na{b="c} 1\n# EOF\n', "# TYPE a_s gauge\n# UNIT a_s m\n# EOF\n"):
        with pytest.raises(AssertionError):
            parse(wrong)


def test_values_are_those_of_the_verdict() -> None:
    found = parse(openmetrics.write(fleet()))
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
    found = parse(openmetrics.write(msgspec.structs.replace(fleet(), cells=cells)))
    assert found["levelfield_node_cost_ratio"] == []
