"""How many rounds a generation is worth."""

import math

import msgspec
import numpy as np
import pytest

from levelfield.analysis.launch_levels import reduce
from levelfield.record import files
from levelfield.schedule import pacing
from levelfield.statistics.variance import split_variance
from tests.commands import ROOT
from tests.records_builder import make_run


def test_the_typical_variance_decides_until_a_block_shows_its_own() -> None:
    none = msgspec.structs.replace(make_run(models=("mlp",), scenarios=("latency",)).blocks[0], generations=())
    best = math.sqrt(1.0 / 0.16) * pacing.TYPICAL.window_sd / pacing.TYPICAL.launch_sd
    assert pacing.rounds_for(none, launch_s=1.0, window_s=0.16) == math.ceil(best)


@pytest.mark.extended
def test_the_typical_variance_is_that_of_published_default_runs() -> None:
    """Of the 16 cases of three runs on the machine with two cores."""
    found = [
        split_variance(reduce(block).log_counted)
        for name in ("20261121-163925-standard-22a3", "20261124-213024-standard-a2f1", "20261127-153342-standard-6bbc")
        for block in files.read(ROOT / "reports" / name / "run.json").blocks
        if block.case.timed
    ]
    assert len(found) == 16
    for part in ("launch_sd", "window_sd", "round_sd"):
        assert np.median([getattr(each, part) for each in found]) == pytest.approx(
            getattr(pacing.TYPICAL, part), rel=0.1
        )


def test_a_launch_that_costs_nothing_takes_the_fewest_rounds() -> None:
    block = make_run(models=("mlp",), scenarios=("latency",), generations=5, rounds=4).blocks[0]
    assert pacing.rounds_for(block, launch_s=0.0, window_s=0.1) == pacing.FEWEST_ROUNDS


def test_costly_launches_are_worth_more_rounds_within_bounds() -> None:
    block = make_run(models=("mlp",), scenarios=("latency",), generations=5, rounds=4).blocks[0]
    found = [pacing.rounds_for(block, launch_s=cost, window_s=0.1) for cost in (1e-6, 1.0, 1e9)]
    assert found == sorted(found)
    assert found[0] == pacing.FEWEST_ROUNDS
    assert found[-1] == pacing.MOST_ROUNDS


def test_a_block_counts_for_more_the_more_generations_it_has() -> None:
    few, many = (
        pacing.split(make_run(models=("mlp",), scenarios=("latency",), generations=count, rounds=4).blocks[0])
        for count in (3, 30)
    )
    typical = pacing.TYPICAL
    assert abs(many.window_sd - typical.window_sd) > abs(few.window_sd - typical.window_sd)


def test_a_generation_has_no_more_rounds_than_its_share_of_the_budget_holds() -> None:
    assert pacing.rounds_within(12, seconds=math.inf, launch_s=2.0, round_s=0.5) == 12
    assert pacing.rounds_within(12, seconds=6.0, launch_s=2.0, round_s=0.5) == 8
    assert pacing.rounds_within(12, seconds=1.0, launch_s=2.0, round_s=0.5) == pacing.FEWEST_ROUNDS
    assert pacing.rounds_within(12, seconds=6.0, launch_s=2.0, round_s=0.0) == 12
