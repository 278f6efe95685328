"""What the machine did during a run, from its record: the canary's course and the outside signals."""

import doctest

import msgspec
import pytest

from levelfield.analysis import analyse, conditions
from levelfield.record.schema import Absent, Run
from tests.records_builder import make_run


def test_the_canary_shows_a_machine_that_slowed_down() -> None:
    run = make_run(models=("resnet50",), scenarios=("latency",), noise_scale=0.0, rounds=2, generations=18)
    builtins = msgspec.to_builtins(run)
    for index, generation in enumerate(builtins["blocks"][0]["generations"]):
        for round_ in generation["rounds"]:
            for turn in round_["turns"]:
                turn["window"]["samples_ns"] = [int(ns * 1.05**index) for ns in turn["window"]["samples_ns"]]
    analysis = analyse(msgspec.convert(builtins, Run))
    assert analysis.canary is not None
    assert len(analysis.canary.points) == 18
    assert analysis.canary.spread == pytest.approx(1.05**17 - 1, rel=1e-3)
    assert analysis.canary.drift == pytest.approx(1.05**12 - 1, rel=1e-3)
    assert "machine-moved" in [warning.code for warning in analysis.warnings]
    assert [row.arm for row in analysis.timed[0].rows if row.rank == 1] == ["openvino"]  # ratios hold all the same


def test_noise_is_a_share_of_a_core_and_absent_where_it_was_not_read() -> None:
    run = make_run(models=("mlp",), scenarios=("latency",), rounds=2, generations=1)
    builtins = msgspec.to_builtins(run)
    for round_ in builtins["blocks"][0]["generations"][0]["rounds"]:
        for turn in round_["turns"]:
            turn["noise"] |= {"steal_ns": {"type": "absent", "reason": "not a guest"}, "others_ns": 100_000_000}
    noise = analyse(msgspec.convert(builtins, Run)).noise
    assert noise is not None
    assert noise.steal_share == Absent("not a guest")
    assert noise.others_share == pytest.approx(0.1 / 0.4)


def test_examples_in_docstrings_hold() -> None:
    assert doctest.testmod(conditions).failed == 0
