"""One verdict for each node in each result."""

import math

import numpy as np
from levelfield_fleet.cells import cells, facts
from levelfield_fleet.groups import by_hardware
from levelfield_fleet.table import Table, collect
from levelfield_fleet.types import NodeVerdict
from tests.fleet.fleets import Nodes, fleet, slowed, with_node

from levelfield.statistics import outliers


def _table(found: Nodes) -> Table:
    (group,), _ = by_hardware(found)
    return collect(group)


def test_intervals_and_costs_are_those_of_the_levels() -> None:
    table = _table(with_node(fleet(8), "n03", slowed(1.4)))
    (judged,) = outliers.judge([table.costs()])
    for cell, level, deviation in zip(
        cells(table, judged), judged.levels.level.ravel(), judged.levels.deviation.ravel(), strict=True
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
    assert all(each.finds is None for each in facts(table, judged))
    for cell in cells(table, judged):
        assert cell.ratio is not None
        assert cell.ratio.low is None


def test_a_noisy_node_is_told_how_much() -> None:
    costs = _table(fleet(12, 5)).costs()
    costs.launches[2] += 0.3 * np.random.default_rng(1).standard_normal(costs.launches[2].shape)
    (judged,) = outliers.judge([costs])
    found = [cell for cell in cells(_table(fleet(12, 5)), judged) if cell.verdict is not NodeVerdict.FINE]
    assert {(cell.node, cell.verdict) for cell in found} == {("n02", NodeVerdict.NOISY)}
    assert all("times as much as those of its peers" in cell.reason for cell in found)


def test_of_few_nodes_there_is_a_centre_and_nothing_is_found() -> None:
    for nodes in (1, 3, 4):
        table = _table(fleet(nodes))
        (judged,) = outliers.judge([table.costs()])
        for each in facts(table, judged):
            assert each.nodes == nodes
            assert each.centre is not None
            assert (each.finds is None) == (each.spread is None) == (nodes < 4)
