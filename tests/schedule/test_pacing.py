"""How many rounds a generation is worth, and how many passes a run has, by time alone."""

import math

import msgspec
import pytest

from levelfield.plan.profiles import STANDARD
from levelfield.record.schema import Arm, Block, Case, Generation, Launch, Settings
from levelfield.scenarios import ScenarioName
from levelfield.schedule import pacing
from levelfield.schedule.outcomes import Outcome
from levelfield.schedule.pacing import (
    Clock,
    apart_s,
    clock,
    completed,
    expected_loads_ns,
    fitting,
    remaining_passes,
    reusable_workers,
)
from tests.records_builder import make_run

SETTINGS = make_run(models=("mlp",), scenarios=("latency",)).settings


def test_costly_launches_are_worth_more_rounds_within_bounds() -> None:
    block = make_run(models=("mlp",), scenarios=("latency",), generations=5, rounds=4).blocks[0]
    found = [pacing.rounds_for(block, launch_s=cost, window_s=0.1) for cost in (1e-6, 1.0, 1e9)]
    assert found == sorted(found)
    assert found[0] == pacing.FEWEST_ROUNDS
    assert found[-1] == pacing.MOST_ROUNDS


def test_a_generation_has_no_more_rounds_than_its_share_of_the_budget_holds() -> None:
    assert pacing.rounds_within(12, seconds=math.inf, launch_s=2.0, round_s=0.5) == 12
    assert pacing.rounds_within(12, seconds=6.0, launch_s=2.0, round_s=0.5) == 8
    assert pacing.rounds_within(12, seconds=1.0, launch_s=2.0, round_s=0.5) == pacing.FEWEST_ROUNDS
    assert pacing.rounds_within(12, seconds=6.0, launch_s=2.0, round_s=0.0) == 12


def block(scenario: ScenarioName, done: int, planned: int = 5) -> Block:
    generations = tuple(Generation(index=index, seed=0, complete=True) for index in range(done))
    return Block(Case("mlp", scenario, "fp32", 1, 2), arms=(), planned_generations=planned, generations=generations)


def passes(found: Clock, pass_s: float) -> int:
    """Return how many passes fit, all of the same length."""
    taken = 0
    while found.another(taken, taken * pass_s, pass_s):
        taken += 1
    return taken


def settings(budget_s: float | None = None, clock_s: float | None = None) -> Settings:
    return msgspec.structs.replace(SETTINGS, budget_seconds=budget_s, clock_seconds=clock_s)


@pytest.mark.parametrize(("pass_s", "expected"), [(1.0, 12), (30.0, 11), (45.0, 7), (66.0, 5), (100.0, 5)])
def test_a_default_run_has_the_passes_that_fit_and_five_at_least(pass_s: float, expected: int) -> None:
    assert passes(clock(STANDARD, settings(clock_s=330), [block("latency", 0)]), pass_s) == expected


@pytest.mark.parametrize(("pass_s", "expected"), [(1.0, 100), (45.0, 2), (200.0, 1)])
def test_a_budget_buys_passes_and_is_kept(pass_s: float, expected: int) -> None:
    found = clock(STANDARD, settings(budget_s=100, clock_s=100), [block("latency", 0)])
    assert passes(found, pass_s) == expected


@pytest.mark.parametrize(
    ("budget_s", "passes_left", "expected"), [(None, 10, 10), (150, 10, 10), (140, 10, 9), (40, 10, 0), (40, 0, 10)]
)
def test_pauses_cost_no_launch_of_the_plan(budget_s: float | None, passes_left: int, expected: float) -> None:
    asked = settings(budget_s=budget_s, clock_s=330)
    assert apart_s(STANDARD, asked, passes_left=passes_left, spent_s=0.0, longest_s=5.0, alone=True) == expected


def test_the_pass_that_a_run_was_cut_off_in_is_completed() -> None:
    found = completed([block("latency", 7), block("throughput", 6), block("cold-start", 1, planned=1)])
    assert [each.planned_generations for each in found] == [7, 7, 1]


def planned(model: str, scenario: ScenarioName, batch: int = 1, planned: int = 2, done: int = 0) -> Block:
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
    blocks = [planned("mlp", "latency"), planned("bert", "latency"), planned("mlp", "throughput", 8)]
    assert names(blocks) == [
        ["mlp/latency/0", "mlp/throughput/0"],
        ["bert/latency/0"],
        ["mlp/latency/1", "mlp/throughput/1"],
        ["bert/latency/1"],
    ]


@pytest.mark.parametrize(("left_s", "expected"), [(28.0, ["mlp", "bert"]), (27.0, ["mlp"]), (8.0, ["mlp"]), (7.0, [])])
def test_the_first_cases_that_a_budget_has_time_for_have_all_their_launches(left_s: float, expected: list[str]) -> None:
    blocks = [planned("mlp", "latency", planned=5, done=1), planned("bert", "latency", planned=5, done=1)]
    kept = fitting(remaining_passes(blocks), {blocks[0].case.id: 2.0, blocks[1].case.id: 5.0}, left_s)
    assert [[each.case.model for group in made.groups for each, _ in group] for made in kept] == (
        4 if expected else 0
    ) * [expected]


def test_what_measures_a_beginning_comes_first_one_in_each_sitting() -> None:
    blocks = [
        planned("mlp", "cold-start", planned=1),
        planned("mlp", "memory", planned=1),
        planned("mlp", "latency", planned=3),
        planned("mlp", "training", 8, planned=3),
    ]
    assert names(blocks) == [
        ["mlp/cold-start/0", "mlp/latency/0", "mlp/training/0"],
        ["mlp/memory/0", "mlp/latency/1", "mlp/training/1"],
        ["mlp/training/2", "mlp/latency/2"],
    ]


def test_a_run_that_was_cut_off_goes_on_where_it_was() -> None:
    blocks = [planned("mlp", "latency", done=1), planned("mlp", "throughput", 8)]
    assert names(blocks) == [["mlp/throughput/0"], ["mlp/latency/1", "mlp/throughput/1"]]


def test_a_generation_that_broke_off_is_not_counted_and_not_overwritten() -> None:
    broken = msgspec.structs.replace(
        planned("mlp", "latency"), generations=(Generation(index=0, seed=0), Generation(index=1, seed=0, complete=True))
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


def test_a_new_model_loads_first_what_took_longest_for_another() -> None:
    seen = {("mlp", "torch-compile"): 5.0, ("mlp", "jax"): 1.0, ("bert", "jax"): 3.0}
    assert expected_loads_ns(seen, "bert", ["jax", "torch-compile", "torch"]) == {"jax": 3.0, "torch-compile": 5.0}
    assert expected_loads_ns({}, "bert", ["jax"]) == {}
