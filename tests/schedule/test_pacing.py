"""How many rounds a generation is worth."""

from suite.schedule import pacing
from tests.records_builder import make_run


def test_rounds_are_those_of_the_profile_until_the_variance_is_known() -> None:
    short = make_run(models=("mlp",), scenarios=("latency",), generations=1, rounds=1).blocks[0]
    assert pacing.rounds_for(short, launch_s=1.0, window_s=0.1, otherwise=7) == 7
    block = make_run(models=("mlp",), scenarios=("latency",), generations=5, rounds=4).blocks[0]
    assert pacing.rounds_for(block, launch_s=0.0, window_s=0.1, otherwise=7) == 7, "the cost is not known yet"


def test_dear_launches_are_worth_more_rounds_within_bounds() -> None:
    block = make_run(models=("mlp",), scenarios=("latency",), generations=5, rounds=4).blocks[0]
    found = [pacing.rounds_for(block, launch_s=cost, window_s=0.1, otherwise=7) for cost in (1e-6, 1.0, 1e9)]
    assert found == sorted(found)
    assert found[0] == pacing.FEWEST_ROUNDS
    assert found[-1] == pacing.MOST_ROUNDS
