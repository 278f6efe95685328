"""The verdict on fleets of synthetic runs, node by node and result by result."""

import math

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


def _node(found: Fleet, name: str) -> Node:
    return next(node for node in found.nodes if node.name == name)


def _cell(found: Fleet, name: str, result: str) -> Cell:
    return next(cell for cell in found.cells if (cell.node, cell.result) == (name, result))


def _verdicts(found: Fleet) -> dict[str, NodeVerdict]:
    return {node.name: node.verdict for node in found.nodes if node.verdict is not NodeVerdict.FINE}


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


def test_a_slow_node_is_named_with_its_results_and_its_canary() -> None:
    found = judge(with_node(fleet(12), "n05", slowed(1.3)))
    assert _verdicts(found) == {"n05": NodeVerdict.SLOW}
    assert found.exit_code == 1
    assert found.nodes[0].reason.startswith("in 3 results, most of all ")
    assert found.nodes[0].reason.endswith("so is its canary")
    assert "n05" in found.answer
    cell = _cell(found, "n05", JAX)
    assert cell.ratio is not None
    assert cell.ratio.value == pytest.approx(1.3, rel=0.03)


def test_a_node_that_is_slow_in_one_result_has_a_canary_that_is_not() -> None:
    found = judge(with_node(fleet(12), "n05", slowed(1.3, "jax", canary=False)))
    assert [cell.result for cell in found.cells if cell.verdict is NodeVerdict.SLOW] == [JAX]
    assert found.nodes[0].reason.endswith("its canary is not")


def test_a_five_percent_slowdown_among_replayed_records_is_found() -> None:
    for nodes, scale in ((16, 0.3), (4, 0.03)):
        found = judge(with_node(replayed(nodes, scale=scale), "n02", slowed(1.05)))
        assert _verdicts(found) == {"n02": NodeVerdict.SLOW}, nodes
        assert not _verdicts(judge(replayed(nodes, scale=scale)))


def test_one_flipped_bit_in_sixteen_nodes() -> None:
    nodes = fleet(16)
    right = digest_of(nodes["n00"][0], "onnxruntime")
    found = judge(with_node(nodes, "n11", with_digests("onnxruntime", flipped(right))))
    assert _verdicts(found) == {"n11": NodeVerdict.WRONG}
    assert found.exit_code == 1
    assert [wrong.node for wrong in found.wrong] == ["n11"]
    assert "where 15 of 15 peers agree" in found.nodes[0].reason


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
    assert {cell.verdict for cell in found.cells} == {NodeVerdict.UNDECIDED}
    assert {cell.ratio for cell in found.cells} == {None}
    assert len(found.groups) == 4
    assert any("4 kinds of hardware" in note for note in found.notes)


def test_a_node_of_its_own_hardware_is_told_what_differs() -> None:
    found = judge(with_node(fleet(6), "n01", with_hardware(memory="12 GiB")))
    assert _verdicts(found) == {"n01": NodeVerdict.UNDECIDED}
    assert _node(found, "n01").reason == "no peer of like hardware, 3 are needed (memory (12 GiB and 24 GiB))"


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
    assert found.exit_code == 3
    assert _node(found, "n00").reason == "no peer of like hardware, 3 are needed"
    with pytest.raises(LevelfieldError, match="No node has a run"):
        judge({"n00": []})


def test_a_node_that_lacks_a_result_has_failed() -> None:
    def without(one: Reduced) -> Reduced:
        answers = {key: answer for key, answer in one.answers.items() if key[0] != "jax"}
        return msgspec.structs.replace(one, answers=answers)

    def failing(one: Reduced) -> Reduced:
        answers = {
            key: Answer("failed", reason="out of memory.", failure="crashed") if key[0] == "jax" else answer
            for key, answer in one.answers.items()
        }
        return msgspec.structs.replace(one, answers=answers)

    for change, reason in ((without, "it was not measured"), (failing, "out of memory")):
        found = judge(with_node(fleet(6), "n04", change))
        assert _verdicts(found) == {"n04": NodeVerdict.FAILED}
        assert _node(found, "n04").reason == f"{JAX}: {reason}"
        assert found.exit_code == 1
    everywhere: Nodes = {name: [failing(each) for each in runs] for name, runs in fleet(6).items()}
    assert set(_verdicts(judge(everywhere)).values()) == {NodeVerdict.UNDECIDED}


def test_a_difference_alone_makes_a_node_unlike_the_others() -> None:
    found = judge(with_node(fleet(6), "n04", with_facts("kernel", release="6.12.0")))
    assert _verdicts(found) == {"n04": NodeVerdict.DIFFERENT}
    assert found.exit_code == 3
    assert _node(found, "n04").reason == f"kernel, release is 6.12.0, and 6.1.0-37-amd64 on 100{NBSP}% of its peers"
    slow = judge(with_node(with_node(fleet(6), "n04", with_facts("kernel", release="6.12.0")), "n04", slowed(2.0)))
    assert _node(slow, "n04").verdict is NodeVerdict.SLOW
    assert "kernel, release is 6.12.0" in _node(slow, "n04").reason


def test_a_fast_node_is_no_fault() -> None:
    found = judge(with_node(fleet(12), "n05", slowed(0.7)))
    assert _verdicts(found) == {"n05": NodeVerdict.FAST}
    assert found.exit_code == 0


def test_a_node_whose_launches_differ_among_themselves_is_tested_again() -> None:
    nodes = fleet(5)
    right = digest_of(nodes["n00"][0], "jax")
    found = judge(with_node(nodes, "n02", with_digests("jax", right, "b" * 64)))
    assert _verdicts(found) == {"n02": NodeVerdict.UNDECIDED}
    assert "2 different answers for jax" in _node(found, "n02").reason


def test_one_run_that_is_off_is_measured_again() -> None:
    nodes = fleet(12, 1)
    found = judge(with_node(nodes, "n05", slowed(1.05)))
    assert _verdicts(found) == {"n05": NodeVerdict.UNDECIDED}
    assert "in 1 run, which may have been odd: run it again" in _node(found, "n05").reason


def test_other_inputs_are_not_compared() -> None:
    def other(one: Reduced) -> Reduced:
        answers = {key: msgspec.structs.replace(answer, inputs=frozenset({"x"})) for key, answer in one.answers.items()}
        return msgspec.structs.replace(one, answers=answers)

    found = judge(with_node(with_node(fleet(6), "n04", other), "n04", slowed(2.0, canary=False)))
    assert _verdicts(found) == {"n04": NodeVerdict.UNDECIDED}
    assert _cell(found, "n04", JAX).reason == "its inputs are not what most of its peers have"


def test_smoke_runs_are_not_judged_by_speed() -> None:
    def smoke(one: Reduced) -> Reduced:
        return msgspec.structs.replace(one, facts=msgspec.structs.replace(one.facts, labels=("smoke",)))

    nodes = {name: [smoke(each) for each in runs] for name, runs in with_node(fleet(5), "n01", slowed(3.0)).items()}
    found = judge(nodes)
    assert set(_verdicts(found).values()) == {NodeVerdict.UNDECIDED}
    assert any("smoke" in note for note in found.notes)


def _table(found: Nodes) -> Table:
    (group,), _ = by_hardware(found)
    return collect(group)


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
    assert all(each.finds is None for each in facts_of(table, judged))
    for cell in cells_of(table, judged):
        assert cell.ratio is not None
        assert cell.ratio.low is None


def test_a_noisy_node_is_told_how_much() -> None:
    costs = _table(fleet(12, 5)).costs()
    costs.launches[2] += 0.3 * np.random.default_rng(1).standard_normal(costs.launches[2].shape)
    (judged,) = outliers.judge([costs])
    found = [cell for cell in cells_of(_table(fleet(12, 5)), judged) if cell.verdict is not NodeVerdict.FINE]
    assert {(cell.node, cell.verdict) for cell in found} == {("n02", NodeVerdict.NOISY)}
    assert all("times as much as those of its peers" in cell.reason for cell in found)


def test_of_few_nodes_there_is_a_centre_and_nothing_is_found() -> None:
    for nodes in (1, 3, 4):
        table = _table(fleet(nodes))
        (judged,) = outliers.judge([table.costs()])
        for each in facts_of(table, judged):
            assert each.nodes == nodes
            assert each.centre is not None
            assert (each.finds is None) == (each.spread is None) == (nodes < 4)
