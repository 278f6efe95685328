"""How many rounds a generation is worth, and how many passes a run has, by time alone."""

import math

import msgspec
import pytest

from levelfield.plan.profiles import STANDARD
from levelfield.record.schema import Block, Case, Generation, Settings
from levelfield.scenarios import ScenarioName
from levelfield.schedule import pacing
from levelfield.schedule.pacing import Clock, apart_s, clock, completed
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
    ("budget_s", "passes_left", "expected"),
    [(None, 10, 10), (150, 10, 10), (140, 10, 9), (40, 10, 0), (40, 0, 10)],
)
def test_pauses_cost_no_launch_of_the_plan(budget_s: float | None, passes_left: int, expected: float) -> None:
    asked = settings(budget_s=budget_s, clock_s=330)
    assert apart_s(STANDARD, asked, passes_left=passes_left, spent_s=0.0, longest_s=5.0, alone=True) == expected


def test_the_pass_that_a_run_was_cut_off_in_is_completed() -> None:
    found = completed([block("latency", 7), block("throughput", 6), block("cold-start", 1, planned=1)])
    assert [each.planned_generations for each in found] == [7, 7, 1]
