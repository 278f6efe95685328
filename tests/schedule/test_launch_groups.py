"""The order of a run, and who shares a launch."""

import msgspec
import pytest

from levelfield.record.schema import Arm, Block, Case, Generation, Launch
from levelfield.scenarios import ScenarioName
from levelfield.schedule.launch_groups import fitting, remaining_passes, reusable_workers
from levelfield.schedule.outcomes import Outcome


def block(model: str, scenario: ScenarioName, batch: int = 1, planned: int = 2, done: int = 0) -> Block:
    case = Case(model, scenario, "fp32", batch, 2)
    generations = tuple(Generation(index=index, seed=0, complete=True) for index in range(done))
    return Block(case=case, arms=(), planned_generations=planned, generations=generations)


def names(blocks: list[Block]) -> list[list[str]]:
    return [
        [f"{each.case.model}/{each.case.scenario}/{index}" for each, index in group]
        for made in remaining_passes(blocks)
        for group in made.groups
    ]


def test_a_models_latency_and_throughput_share_their_launches() -> None:
    blocks = [block("mlp", "latency"), block("bert", "latency"), block("mlp", "throughput", 8)]
    assert names(blocks) == [
        ["mlp/latency/0", "mlp/throughput/0"],
        ["bert/latency/0"],
        ["mlp/latency/1", "mlp/throughput/1"],
        ["bert/latency/1"],
    ]


@pytest.mark.parametrize(
    ("left_s", "expected"), [(28.0, ["mlp", "bert"]), (27.0, ["mlp"]), (8.0, ["mlp"]), (7.0, ["mlp", "bert"])]
)
def test_the_first_cases_that_a_budget_has_time_for_have_all_their_launches(left_s: float, expected: list[str]) -> None:
    blocks = [block("mlp", "latency", planned=5, done=1), block("bert", "latency", planned=5, done=1)]
    seconds = {blocks[0].case.id: 2.0, blocks[1].case.id: 5.0}
    kept = fitting(remaining_passes(blocks), seconds, left_s)
    assert [[each.case.model for group in made.groups for each, _ in group] for made in kept] == [expected] * 4


def test_what_measures_a_beginning_comes_first_one_in_each_sitting() -> None:
    blocks = [
        block("mlp", "cold-start", planned=1),
        block("mlp", "memory", planned=1),
        block("mlp", "latency", planned=3),
        block("mlp", "training", 8, planned=3),
    ]
    assert names(blocks) == [
        ["mlp/cold-start/0", "mlp/latency/0", "mlp/training/0"],
        ["mlp/memory/0", "mlp/latency/1", "mlp/training/1"],
        ["mlp/training/2", "mlp/latency/2"],
    ]


def test_a_run_that_was_cut_off_goes_on_where_it_was() -> None:
    blocks = [block("mlp", "latency", done=1), block("mlp", "throughput", 8)]
    assert names(blocks) == [["mlp/throughput/0"], ["mlp/latency/1", "mlp/throughput/1"]]


def test_a_generation_that_broke_off_is_not_counted_and_not_overwritten() -> None:
    broken = msgspec.structs.replace(
        block("mlp", "latency"), generations=(Generation(index=0, seed=0), Generation(index=1, seed=0, complete=True))
    )
    assert names([broken]) == [["mlp/latency/2"]]


def outcomes(*arms: Arm) -> dict[str, Outcome]:
    case = Case("mlp", "memory", "fp32", 1, 2)
    return {arm.id: Outcome(arm, case, Launch(arm=arm.id, started="")) for arm in arms}


def test_who_goes_on_to_the_next_case() -> None:
    one, two, other = Arm("jax", "jax"), Arm("jax", "jax", ordinal=2), Arm("torch", "torch")
    assert set(reusable_workers((one, other), outcomes(one, other))) == {"jax", "torch"}
    assert set(reusable_workers((one, two, other), outcomes(one, other))) == {"torch"}, "its twin has no past yet"
    assert set(reusable_workers((one, two, other), outcomes(one, two, other))) == {"jax", "jax#2", "torch"}
    assert set(reusable_workers((one, other), outcomes(one, two, other))) == {"jax", "torch"}
    assert reusable_workers((one,), {}) == {}
