"""Verdicts on two arms of one run, on records whose truth is known."""

from typing import Any

import pytest

from suite.cli.ab import ab
from suite.compare.ab.comparison import arms, compare_arms
from suite.compare.types import Comparison, Gate, Movement, Verdict
from suite.errors import LevelfieldError
from suite.record.schema import Arm, Run
from suite.report import rerun
from tests.compare.ab.pairs import A, B, run
from tests.records_builder import make_run

LATENCY: dict[str, Any] = {"models": ("resnet50",), "scenarios": ("latency",)}


def judged(record: Run, **gate: float) -> Comparison:
    return compare_arms(record, Gate(**gate), "0" * 64)


def test_the_command_that_measures_it_again_is_an_ab() -> None:
    twin = Arm("onnxruntime", "onnxruntime", ordinal=2, inject="5%")
    words = rerun.command(run(1.0, first=B, second=twin, **LATENCY)).split()
    assert words[:4] == ["levelfield", "ab", "onnxruntime", "onnxruntime"]
    assert "5%@onnxruntime#2" in " ".join(words).replace("'", "")
    assert not {"--backends", "--control"} & set(words)
    known = {option for parameter in ab.params for option in parameter.opts}
    assert {word for word in words if word.startswith("--")} <= known


def test_the_same_thing_twice_is_said() -> None:
    twin = Arm("onnxruntime", "onnxruntime", ordinal=2)
    found = judged(run(1.0, first=B, second=twin, generations=12, **LATENCY))
    assert any("the same thing" in note for note in found.notes)
    assert found.rows[0].verdict is Verdict.SAME


def test_what_differs_between_the_images_comes_first() -> None:
    found = judged(run(1.0, **LATENCY))
    changed = [(group, change) for group in found.changes for change in group.changed]
    versions = [(change.old, change.new) for _, change in changed if change.name == "onnxruntime"]
    assert versions == [("1.30.0", "1.31.1")]
    assert all("onnxruntime" in group.title for group, _ in changed), "the machine is one and the same"
    assert "onnxruntime 1.30.0 → 1.31.1" in found.notes[0]


def test_outputs_are_compared() -> None:
    (still,) = judged(run(1.0, **LATENCY)).drifts
    assert (still.old_arm, still.new_arm) == (A.id, B.id)
    assert still.movement is Movement.IDENTICAL


@pytest.mark.parametrize("record", [make_run(backends=("jax",)), make_run(backends=("jax", "torch", "openvino"))])
def test_a_run_that_is_no_pair_is_refused(record: Run) -> None:
    with pytest.raises(LevelfieldError, match="does not hold two arms"):
        arms(record)
