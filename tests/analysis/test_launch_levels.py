"""One function makes launch levels of a block: the stop, the report, `ab` and the trials share them, to the bit."""

import math
from typing import Any

import msgspec
import pytest

from levelfield.analysis import analyse
from levelfield.analysis.launch_levels import launch_levels, level_matrix
from levelfield.compare.ab import compare_arms, judge_arms
from levelfield.compare.effects import from_pairs
from levelfield.compare.types import Gate
from levelfield.record.schema import Generation, Run
from levelfield.report import sentences
from levelfield.statistics.ratios import ratio_interval
from levelfield.statistics.stopping import decide
from levelfield.statistics.student import EndedBy
from tests.compare import pairs
from tests.known import known
from tests.records_builder import make_run, slower, with_generations

TARGET = 0.01
SHAPES: list[dict[str, Any]] = [
    {"rounds": 2},  # warm-up is judged across launches
    {"rounds": 12},  # and within each
    {"rounds": 3, "disturbed": (1,)},
]


def slow_start(run: Run, arm: str, factors: tuple[float, ...] = (1.5, 1.2)) -> Run:
    """Make the first windows of every launch of an arm slower."""

    def generation(one: Generation) -> Generation:
        padded = zip(one.rounds, (*factors, *[1.0] * len(one.rounds)), strict=False)
        rounds = (
            msgspec.structs.replace(
                each, turns=tuple(slower(turn, factor) if turn.arm == arm else turn for turn in each.turns)
            )
            for each, factor in padded
        )
        return msgspec.structs.replace(one, rounds=tuple(rounds))

    return with_generations(run, generation)


def measured(scenario: str, shape: dict[str, Any], *, slow: bool = True) -> Run:
    run = make_run(
        models=("mlp",),
        scenarios=(scenario,),
        backends=("jax", "torch"),
        control="jax",
        generations=7,
        precision_target=TARGET,
        max_calls=40,
        **shape,
    )
    # Throughput is of whole windows: one slow call makes the time of an item differ from the median call.
    return slow_start(run, "jax") if slow else run


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("scenario", ["latency", "throughput"])
def test_the_interval_that_a_run_stopped_on_is_the_one_reported(scenario: str, shape: dict[str, Any]) -> None:
    run = measured(scenario, shape)
    (block,) = run.blocks
    (found,) = analyse(run).timed
    stopped = decide(level_matrix(block), target=TARGET)
    assert stopped.half_width is not None
    assert stopped.half_width == found.half_width
    (control,) = found.controls
    levels = level_matrix(block)
    first, _, second = levels.T
    interval = ratio_interval(second, first, ended=EndedBy.PRECISION)
    assert (control.ratio.value, control.ratio.low, control.ratio.high) == (interval.ratio, interval.low, interval.high)
    widths = [
        ratio_interval(levels[:, a], levels[:, b], ended=EndedBy.PRECISION).mean.half_width(0.95)
        for a in range(3)
        for b in range(a)
    ]
    assert stopped.half_width == max(widths)


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("scenario", ["latency", "throughput"])
def test_ab_judges_the_levels_that_it_stopped_on(scenario: str, shape: dict[str, Any]) -> None:
    run = pairs.run(
        1.01, models=("mlp",), scenarios=(scenario,), generations=8, precision_target=TARGET, spread=1.0, **shape
    )
    run = slow_start(run, pairs.A.id)
    (block,) = run.blocks
    stopped = decide(level_matrix(block), target=TARGET)
    first, second = level_matrix(block).T
    interval = ratio_interval(second, first, ended=EndedBy.PRECISION)
    assert stopped.half_width == interval.mean.half_width(0.95)
    (row,) = judge_arms(run, pairs.A, pairs.B, Gate())
    assert row.ratio is not None
    effect = from_pairs(interval.mean)
    assert known(row.ratio.low) == math.exp(effect.log_ratio - effect.half_width(known(row.confidence)))
    assert sentences.precision(interval.mean.half_width(0.95)) in compare_arms(run, Gate(), "0" * 64).notes


def test_warm_up_windows_count_neither_for_the_stop_nor_for_the_report() -> None:
    for shape in SHAPES[:2]:
        slow, steady = measured("latency", shape), measured("latency", shape, slow=False)
        (row,) = (row for row in analyse(slow).timed[0].rows if row.arm == "jax")
        assert row.counts.windows_warming >= 7
        ratio = [launch_levels(run.blocks[0])["jax"][0] for run in (slow, steady)]
        assert ratio[0] / ratio[1] < (1.25 if shape["rounds"] == 2 else 1.05)  # of two, the second is slow as well


def test_a_slow_start_is_said_where_two_rounds_are_all_there_is() -> None:
    two = analyse(measured("latency", SHAPES[0]))
    (warning,) = (each for each in two.warnings if each.code == "slow-start")
    assert warning.about.startswith("jax/")
    (row,) = (row for row in two.timed[0].rows if row.arm == "jax")
    assert row.slow_start is not None
    assert not row.slow_start.settled
    assert row.slow_start.excess == pytest.approx(0.25, abs=0.15)
    assert row.warming == tuple((index, 1) for index in range(7))
    six = analyse(measured("latency", {"rounds": 6}))
    assert not [each for each in six.warnings if each.code == "slow-start"]
    (row,) = (row for row in six.timed[0].rows if row.arm == "jax")
    assert row.slow_start is not None
    assert (row.slow_start.rounds, row.slow_start.settled) == (2, True)
