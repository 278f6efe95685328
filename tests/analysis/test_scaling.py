"""Threads: speed-up over the fewest, efficiency, and intervals that hold the truth."""

from functools import partial

import msgspec
import pytest

from levelfield.analysis import analyse, scaling
from levelfield.analysis.estimates import matrix
from levelfield.analysis.launch_levels import launch_levels
from levelfield.analysis.scaling import Scaling
from levelfield.record.schema import Run
from levelfield.statistics.ratios import ratio_interval
from tests.known import known
from tests.records_builder import SCALING, make_run

made = partial(
    make_run, models=("mlp",), backends=("jax", "openvino"), scenarios=("latency",), threads=(1, 2, 4), max_calls=20
)


def only(run: Run) -> Scaling:
    (found,) = scaling.scalings(run, analyse(run).blocks)
    return found


def test_an_exact_record_gives_the_exact_speed_up() -> None:
    found = only(made(noise_scale=0.0))
    assert (found.over, found.counts) == ("threads", (1, 2, 4))
    assert {curve.arm for curve in found.curves} == {"jax", "openvino"}
    for curve in found.curves:
        for point in curve.points:
            assert known(point.speed_up).value == pytest.approx(point.count**SCALING, rel=1e-3)
            assert known(point.efficiency).value == pytest.approx(point.count ** (SCALING - 1), rel=1e-3)


def test_intervals_are_those_of_launches_paired_by_generation() -> None:
    """`tests.statistics.test_ratios` simulates how often those hold the truth."""
    run = made(seed=3)
    levels = {block.case.threads: launch_levels(block) for block in run.blocks}
    for curve in only(run).curves:
        for point in curve.points[1:]:
            logs = matrix({"few": levels[1][curve.arm], "many": levels[point.count][curve.arm]})
            expected = ratio_interval(*logs.T)
            assert point.speed_up is not None
            assert point.efficiency is not None
            assert (point.speed_up.low, point.speed_up.high) == pytest.approx((expected.low, expected.high))
            assert point.efficiency.low == pytest.approx(expected.low / point.count)
            assert point.efficiency.high == pytest.approx(expected.high / point.count)


def test_the_fewest_threads_are_the_measure_and_have_no_interval() -> None:
    for curve in only(made(threads=(2, 4))).curves:
        first = known(curve.at(2))
        assert first.speed_up is not None
        assert (first.speed_up.value, first.speed_up.low) == (1.0, None)
        assert curve.at(3) is None


def test_processes_scale_apart_from_threads() -> None:
    run = made(scenarios=("training",), backends=("jax", "torch"), threads=(1, 2), processes=(1, 2, 4), noise_scale=0.0)
    found = scaling.scalings(run, analyse(run).blocks)
    assert [(each.over, each.counts, each.case.processes) for each in found[:3]] == [
        ("threads", (1, 2), 1),
        ("threads", (1, 2), 2),
        ("threads", (1, 2), 4),
    ]
    assert [(each.over, each.counts, each.case.threads) for each in found[3:]] == [
        ("processes", (1, 2, 4), 1),
        ("processes", (1, 2, 4), 2),
    ]
    assert [each.one for each in (found[0], found[-1])] == ["thread", "process"]
    for curve in found[-1].curves:
        for point in curve.points:
            assert known(point.speed_up).value == pytest.approx(point.count**SCALING, rel=1e-3)
            assert known(point.efficiency).value == pytest.approx(point.count ** (SCALING - 1), rel=1e-3)


def test_an_arm_that_failed_with_fewer_threads_has_no_speed_up() -> None:
    run = made(threads=(1, 2))
    gone = tuple(
        msgspec.structs.replace(block, generations=()) if block.case.threads == 1 else block for block in run.blocks
    )
    for curve in only(msgspec.structs.replace(run, blocks=gone)).curves:
        assert all(point.speed_up is None for point in curve.points)
