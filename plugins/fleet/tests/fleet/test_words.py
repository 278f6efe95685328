"""The words of a verdict on a fleet, and the tables that every format shows."""

import msgspec
import pytest

from levelfield.analysis.summary import CANARY
from levelfield.analysis.types import Estimate
from levelfield.report.units import NBSP
from levelfield_fleet import phrases, words
from levelfield_fleet.types import Cell, Difference, Node, NodeVerdict, WrongAnswer
from tests.fleet.samples import DRIVER, fleet


def _node(name: str, verdict: NodeVerdict, reason: str = "") -> Node:
    return Node(name, "key", verdict, words.OUTCOMES[verdict], reason)


@pytest.mark.parametrize(("verdict", "code"), [*zip(NodeVerdict, (1, 1, 1, 3, 3, 0, 3, 0), strict=True)])
def test_the_exit_code_is_that_of_the_worst(verdict: NodeVerdict, code: int) -> None:
    assert words.exit_code([_node("b", verdict), _node("a", NodeVerdict.FINE)]) == code
    assert words.exit_code([_node("c", NodeVerdict.SLOW), _node("b", verdict)]) == 1


def test_the_answer_counts_and_names_and_no_name_breaks_it() -> None:
    assert words.answer([_node("a", NodeVerdict.FINE)]) == "The node is fine."
    slow = [_node(f"s{number}", NodeVerdict.SLOW, "in 1 result") for number in range(5)]
    found = words.answer([_node("w", NodeVerdict.WRONG, "why"), *slow, _node("a", NodeVerdict.FINE)])
    assert found == "Of 7 nodes: 1 computes wrongly (w), 5 slow (s0, s1, s2 and 2 more); 1 fine. w: why."
    hostile = words.answer([_node("a\x1b[31m\n" + "x" * 500, NodeVerdict.SLOW)])
    assert not {"\x1b", "\n"} & set(hostile)
    assert len(hostile) < 200


def test_reasons_name_the_most_serious_and_count_the_rest() -> None:
    cells = [
        Cell("a", CANARY, NodeVerdict.FINE),
        Cell("a", "x", NodeVerdict.SLOW, "it costs more", ratio=Estimate(1.1)),
        Cell("a", "y", NodeVerdict.SLOW, "it costs much more", ratio=Estimate(1.3)),
    ]
    differs = [Difference("kernel", "release", "6.1", "6.12", 0.9), Difference("gpu", "driver", "570", "580", 1.0)]
    assert words.reason(NodeVerdict.SLOW, cells, [], differs) == (
        "in 2 results, most of all y: it costs much more; its canary is not; "
        f"kernel, release is 6.1, and 6.12 on 90{NBSP}% of its peers (and 1 more fact)"
    )
    wrong = [WrongAnswer("a", "jax", "mlp/fp32", "1" * 64, "2" * 64, 6, 7)] * 2
    assert words.reason(NodeVerdict.WRONG, cells, wrong, differs) == (
        "its answer is another one to the last bit: jax on mlp/fp32, where 6 of 7 peers agree (and 1 more answer)"
    )


def test_tables_begin_with_the_most_serious_and_tell_a_fact_once() -> None:
    nodes = tuple(msgspec.structs.replace(node, differences=(DRIVER,)) for node in fleet().nodes)
    verdict = msgspec.structs.replace(fleet(), nodes=nodes)
    assert [row[1] for row in phrases.nodes_that_are_not_fine(verdict).rows] == list(NodeVerdict)[:-1]
    assert [cell.verdict for cell in phrases.striking(verdict)] == list(NodeVerdict)[:-2]
    ((where, what, value, most, who),) = phrases.what_differs(verdict).rows
    assert (where, what, value, most.replace(NBSP, " ")) == ("gpu", "driver", "580.95", "570.12 (88 % of the peers)")
    assert phrases.nodes(node.name for node in nodes) == who
    assert phrases.nodes(f"n{number}" for number in range(10)).endswith("n7 and 2 more")
