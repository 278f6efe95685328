"""The costs of a group as arrays, and why a node has none."""

import math
from collections.abc import Callable

import msgspec
import numpy as np
import pytest

from levelfield.analysis.summary import CANARY, Reduced
from levelfield.analysis.types import Standing
from levelfield_fleet.groups import by_hardware
from levelfield_fleet.table import MOST_LAUNCHES, MOST_RUNS, Table, collect
from tests.fleet.fleets import Nodes, fleet, slowed, with_node

JAX = "jax/mlp/latency/fp32/b1/t2/cpu"


def _table(found: Nodes) -> Table:
    (group,), _ = by_hardware(found)
    return collect(group)


def _relabelled(standing: Standing, reason: str) -> Callable[[Reduced], Reduced]:
    def change(one: Reduced) -> Reduced:
        answers = {
            key: msgspec.structs.replace(answer, standing=standing, reason=reason) if key[0] == "jax" else answer
            for key, answer in one.answers.items()
        }
        return msgspec.structs.replace(one, answers=answers)

    return change


def test_costs_are_where_their_node_run_and_result_are() -> None:
    nodes = fleet(3, 2)
    nodes["n01"] = nodes["n01"][:1]
    table = _table(nodes)
    found = table.costs()
    assert found.runs.shape == (3, 2, 3)
    assert found.launches.shape == (3, 2, MOST_LAUNCHES, 3)
    column = [result.id for result in table.results].index(JAX)
    answer = nodes["n02"][1].answers["jax", "mlp/latency/fp32/b1/t2/cpu"]
    assert answer.cost is not None
    assert found.runs[2, 1, column] == pytest.approx(math.log(answer.cost))
    assert found.launches[2, 1, :5, column] == pytest.approx(np.log(answer.launch_costs))
    assert np.isnan(found.launches[2, 1, 5:]).all()
    assert np.isnan(found.runs[1, 1]).all()


def test_the_canary_is_a_result() -> None:
    table = _table(fleet(3, 1))
    (canary,) = (result for result in table.results if result.id == CANARY)
    assert (canary.case.model, canary.case.threads) == (CANARY, 2)
    (answer,) = table.entries["n00", CANARY].answers
    assert answer.cost is not None
    assert len(answer.launch_costs) == 5


@pytest.mark.parametrize("standing", ["failed", "unequal"])
def test_a_node_that_fails_in_some_of_its_runs_is_not_fine(standing: Standing) -> None:
    nodes = fleet(3, 3)
    nodes["n01"] = [_relabelled(standing, "It is odd")(nodes["n01"][0]), *nodes["n01"][1:]]
    assert _table(nodes).entries["n01", JAX].failed.startswith("It is odd")


def test_an_answer_that_is_not_equal_has_no_cost_and_its_reason() -> None:
    entry = _table(with_node(fleet(3), "n01", _relabelled("unequal", "relative error 0.1"))).entries["n01", JAX]
    assert not entry.answers
    assert entry.failed == "relative error 0.1"
    entry = _table(with_node(fleet(3), "n01", _relabelled("absent", "no bf16"))).entries["n01", JAX]
    assert (entry.answers, entry.failed) == ((), "")


def test_another_question_is_set_aside_with_its_first_difference() -> None:
    def other(one: Reduced) -> Reduced:
        return msgspec.structs.replace(one, timed_region="all of it", launcher="venv")

    table = _table(with_node(with_node(fleet(4), "n01", other), "n01", slowed(3.0)))
    assert table.entries["n01", JAX].aside == "what the timed region includes is not what most of its peers have"
    assert not table.entries["n01", JAX].answers


def test_one_run_that_was_asked_otherwise_is_not_left_out_in_silence() -> None:
    nodes = fleet(4, 3)
    nodes["n01"] = [msgspec.structs.replace(nodes["n01"][0], timed_region="all of it"), *nodes["n01"][1:]]
    entry = _table(nodes).entries["n01", JAX]
    assert len(entry.answers) == 2
    assert entry.lost == "what the timed region includes is not what most of its peers have (in 1 of 3 runs)"


def test_only_the_newest_runs_are_looked_at() -> None:
    nodes = fleet(1, 1)
    nodes["n00"] = [
        msgspec.structs.replace(
            nodes["n00"][0], facts=msgspec.structs.replace(nodes["n00"][0].facts, started=f"2026-01-01T{number:06}Z")
        )
        for number in range(MOST_RUNS + 5)
    ]
    assert _table(nodes).costs().runs.shape[1] == MOST_RUNS
