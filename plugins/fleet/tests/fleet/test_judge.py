"""The verdict on fleets of synthetic runs, node by node and result by result."""

import math
import re
from collections.abc import Callable

import msgspec
import numpy as np
import pytest

from levelfield.analysis.summary import CANARY, Answer, Reduced
from levelfield.errors import LevelfieldError
from levelfield.report.units import NBSP
from levelfield_fleet.groups import by_hardware
from levelfield_fleet.judge import cells_of, facts_of, judge
from levelfield_fleet.statistics import outliers
from levelfield_fleet.table import Table, collect
from levelfield_fleet.types import Cell, Fleet, Node, NodeVerdict
from tests.fleet.fleets import (
    Nodes,
    digest_of,
    fleet,
    flipped,
    replayed,
    slowed,
    with_digests,
    with_facts,
    with_hardware,
    with_node,
)

JAX = "jax/mlp/latency/fp32/b1/t2/cpu"
RIGHT = digest_of(fleet(1)["n00"][0], "jax")


def _node(found: Fleet, name: str) -> Node:
    return next(node for node in found.nodes if node.name == name)


def _cell(found: Fleet, name: str, result: str) -> Cell:
    return next(cell for cell in found.cells if (cell.node, cell.result) == (name, result))


def _verdicts(found: Fleet) -> dict[str, NodeVerdict]:
    return {node.name: node.verdict for node in found.nodes if node.verdict is not NodeVerdict.FINE}


def _table(nodes: Nodes) -> Table:
    (group,), _ = by_hardware(nodes)
    return collect(group)


def _answers(change: Callable[[Answer], Answer | None]) -> Callable[[Reduced], Reduced]:
    """Change the answers of jax; None: it has none."""

    def changed(one: Reduced) -> Reduced:
        both = {key: change(answer) if key[0] == "jax" else answer for key, answer in one.answers.items()}
        return msgspec.structs.replace(one, answers={key: answer for key, answer in both.items() if answer is not None})

    return changed


def _failing(answer: Answer) -> Answer:
    return Answer("failed", reason="out of memory.", failure="crashed")


def _smoke(one: Reduced) -> Reduced:
    return msgspec.structs.replace(one, facts=msgspec.structs.replace(one.facts, labels=("smoke",)))


def test_like_nodes_are_fine() -> None:
    found = judge(fleet(8), reports={"n03": "n03/report.html"})
    assert not _verdicts(found)
    assert (found.exit_code, found.answer) == (0, "All 8 nodes are fine.")
    assert _node(found, "n03").report == "n03/report.html"
    (group,) = found.groups
    assert [each.result for each in group.results] == [CANARY, JAX, JAX.replace("jax", "onnxruntime")]
    for each in group.results:
        assert each.nodes == 8
        assert each.finds is not None
        assert 1.02 < each.finds < 1.3
        assert each.spread is not None
        assert 0 < each.spread < 0.03
    assert len(found.cells) == 24
    for cell in found.cells:
        assert cell.ratio is not None
        assert cell.ratio.low is not None
        assert cell.ratio.high is not None
        assert cell.ratio.low < 1 < cell.ratio.high
        assert cell.runs == 3
        assert cell.scatter is not None
    assert any("to the last bit in 2 answers" in note for note in found.notes)


@pytest.mark.parametrize(
    ("change", "verdict", "reason"),
    [
        (slowed(1.3), NodeVerdict.SLOW, "in 3 results, most of all .* more than on its peers; so is its canary"),
        (slowed(1.3, "jax", canary=False), NodeVerdict.SLOW, f"in 1 result, most of all {JAX}.*; its canary is not"),
        (slowed(0.7), NodeVerdict.FAST, "in 3 results, .* less than on its peers"),
        (with_digests("jax", flipped(RIGHT)), NodeVerdict.WRONG, "its answer is another one .* 11 of 11 peers agree"),
        (with_digests("jax", RIGHT, "b" * 64), NodeVerdict.UNDECIDED, "its launches give 2 different answers for jax"),
        (_answers(lambda _: None), NodeVerdict.FAILED, f"{JAX}: it was not measured"),
        (_answers(_failing), NodeVerdict.FAILED, f"{JAX}: out of memory"),
        (
            with_facts("kernel", release="6.12.0"),
            NodeVerdict.DIFFERENT,
            f"kernel, release is 6.12.0, and 6.1.0-37-amd64 on 100{NBSP}% of its peers",
        ),
        (
            with_hardware(memory="12 GiB"),
            NodeVerdict.UNDECIDED,
            r"no peer of like hardware, 3 are needed \(memory \(12 GiB and 24 GiB\)\)",
        ),
        (
            _answers(lambda answer: msgspec.structs.replace(answer, inputs=frozenset({"x"}), cost=1.0)),
            NodeVerdict.UNDECIDED,
            f"{JAX}: its inputs are not what most of its peers have",
        ),
    ],
)  # fmt: skip
def test_one_node_of_twelve_is_named_and_why(
    change: Callable[[Reduced], Reduced], verdict: NodeVerdict, reason: str
) -> None:
    found = judge(with_node(fleet(12), "n05", change))
    assert _verdicts(found) == {"n05": verdict}
    assert found.exit_code == {"worse": 1, "undecided": 3, "aside": 0}[found.nodes[0].outcome]
    assert found.nodes[0].name == "n05"
    assert "n05" in found.answer
    assert re.match(reason, found.nodes[0].reason), found.nodes[0].reason


def test_the_most_serious_is_said_and_what_differs_beside_it() -> None:
    found = judge(with_node(with_node(fleet(6), "n04", with_facts("kernel", release="6.12.0")), "n04", slowed(2.0)))
    assert _node(found, "n04").verdict is NodeVerdict.SLOW
    assert "kernel, release is 6.12.0" in _node(found, "n04").reason


def test_a_five_percent_slowdown_among_replayed_records_is_found() -> None:
    for nodes, scale in ((16, 0.3), (4, 0.03)):
        found = judge(with_node(replayed(nodes, scale=scale), "n02", slowed(1.05)))
        assert _verdicts(found) == {"n02": NodeVerdict.SLOW}, nodes
        assert not _verdicts(judge(replayed(nodes, scale=scale)))


def test_unlike_hardware_is_never_compared() -> None:
    nodes = fleet(4)
    for number, node in enumerate(nodes):
        nodes = with_node(nodes, node, with_hardware(cpu_model=f"model {number}"))
        nodes = with_node(nodes, node, with_digests("jax", f"{number}" * 64))
        nodes = with_node(nodes, node, slowed(1 + number))
        nodes = with_node(nodes, node, with_facts("kernel", release=f"6.{number}"))
    found = judge(nodes)
    assert set(_verdicts(found).values()) == {NodeVerdict.UNDECIDED}
    assert found.exit_code == 3
    assert not found.wrong
    assert {(cell.verdict, cell.ratio) for cell in found.cells} == {(NodeVerdict.UNDECIDED, None)}
    assert len(found.groups) == 4
    assert any("4 kinds of hardware" in note for note in found.notes)


def test_of_two_nodes_the_difference_is_told_and_neither_is_named() -> None:
    found = judge(with_node(fleet(2), "n01", slowed(1.5)))
    assert set(_verdicts(found).values()) == {NodeVerdict.UNDECIDED}
    assert found.exit_code == 3
    assert any(note.startswith("Of two nodes, neither can be called slow: n01 costs 5") for note in found.notes)
    cell = _cell(found, "n01", JAX)
    assert cell.ratio is not None
    assert cell.ratio.value == pytest.approx(1.5, rel=0.05)
    assert cell.ratio.low is None


def test_one_node_is_not_decided_and_none_is_refused() -> None:
    found = judge(fleet(1))
    assert (found.exit_code, found.nodes[0].reason) == (3, "no peer of like hardware, 3 are needed")
    with pytest.raises(LevelfieldError, match="No node has a run"):
        judge({"n00": []})


@pytest.mark.parametrize("change", [_answers(_failing), _smoke])
def test_what_is_so_on_every_node_names_nobody(change: Callable[[Reduced], Reduced]) -> None:
    found = judge({name: [change(run) for run in runs] for name, runs in fleet(6).items()})
    assert set(_verdicts(found).values()) == {NodeVerdict.UNDECIDED}


def _lost(answer: Answer) -> Answer:
    return Answer("absent", reason="no window was completed before the run ended")


@pytest.mark.parametrize(("runs", "verdict"), [(3, NodeVerdict.UNDECIDED), (1, NodeVerdict.UNDECIDED)])
def test_what_was_to_be_measured_and_was_not_is_not_fine(runs: int, verdict: NodeVerdict) -> None:
    """On most nodes, in all of their runs or in some: none of them is known to be fine."""
    nodes = fleet(12)
    for name in list(nodes)[:8]:
        nodes[name] = [_answers(_lost)(run) for run in nodes[name][:runs]] + nodes[name][runs:]
    found = judge(nodes)
    assert set(_verdicts(found)) == set(list(nodes)[:8])
    assert set(_verdicts(found).values()) == {verdict}
    assert found.exit_code == 3


def test_one_run_that_is_off_is_measured_again() -> None:
    found = judge(with_node(fleet(12, 1), "n05", slowed(1.05)))
    assert _verdicts(found) == {"n05": NodeVerdict.UNDECIDED}
    assert "in 1 run, which may have been odd: run it again" in _node(found, "n05").reason


def test_intervals_and_costs_are_those_of_the_levels() -> None:
    table = _table(with_node(fleet(8), "n03", slowed(1.4)))
    (judged,) = outliers.judge([table.costs()])
    for cell, level, deviation in zip(
        cells_of(table, judged), judged.levels.level.ravel(), judged.levels.deviation.ravel(), strict=True
    ):
        assert cell.ratio is not None
        assert cell.cost == math.exp(level)
        assert cell.ratio.value == math.exp(deviation)
        slow = cell.ratio.low is not None and cell.ratio.low > 1
        assert (cell.verdict is NodeVerdict.SLOW) == slow == (cell.node == "n03")


def test_an_interval_that_says_nothing_is_left_out() -> None:
    table = _table(fleet(4, scale=20.0))
    (judged,) = outliers.judge([table.costs()], level=1e-8)
    assert (judged.calls.half_width > math.log(outliers.MOST)).all()
    assert all(facts.finds is None for facts in facts_of(table, judged))
    assert all(cell.ratio is not None and cell.ratio.low is None for cell in cells_of(table, judged))


def test_a_noisy_node_is_told_how_much() -> None:
    table = _table(fleet(12, 5))
    costs = table.costs()
    costs.launches[2] += 0.3 * np.random.default_rng(1).standard_normal(costs.launches[2].shape)
    (judged,) = outliers.judge([costs])
    noisy = [cell for cell in cells_of(table, judged) if cell.verdict is not NodeVerdict.FINE]
    assert {(cell.node, cell.verdict) for cell in noisy} == {("n02", NodeVerdict.NOISY)}
    assert all("times as much as those of its peers" in cell.reason for cell in noisy)


def test_nodes_of_which_none_could_be_found_slow_are_not_called_fine() -> None:
    found = judge(fleet(4, 1, scale=20.0))
    assert all(each.finds is None for each in found.groups[0].results)
    assert (found.exit_code, {node.outcome for node in found.nodes}) == (3, {"undecided"})
    assert "no slowdown of any size would be found" in found.answer
