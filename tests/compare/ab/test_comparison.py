"""Verdicts on two arms of one run, on records whose truth is known."""

from typing import Any

import msgspec
import pytest

from levelfield.cli.measure import ab
from levelfield.compare.ab.comparison import arms, compare_arms, undecided
from levelfield.compare.types import Comparison, Gate, Movement, Verdict
from levelfield.errors import LevelfieldError
from levelfield.options import rerun
from levelfield.record.schema import Arm, Run
from tests.compare.ab.pairs import A, B, run
from tests.records_builder import make_run

LATENCY: dict[str, Any] = {"models": ("resnet50",), "scenarios": ("latency",)}


def judged(record: Run, **gate: Any) -> Comparison:
    return compare_arms(record, Gate(**gate), "0" * 64)


def test_the_command_that_measures_it_again_is_an_ab() -> None:
    twin = Arm("onnxruntime", "onnxruntime", ordinal=2, inject="5%")
    words = rerun(run(1.0, first=B, second=twin, **LATENCY)).split()
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
    with pytest.raises(LevelfieldError, match="does not compare two arms"):
        arms(record)


def ends(record: Run) -> Run:
    return msgspec.structs.replace(record, settings=msgspec.structs.replace(record.settings, ends_on_verdict=True))


def test_a_case_without_a_verdict_is_undecided_with_its_interval() -> None:
    noisy = ends(run(1.01, spread=3.0, generations=4, **LATENCY))
    (case, known), *none = undecided(noisy, Gate()).items()
    assert not none
    assert case == noisy.blocks[0].case.id
    assert "–" in known
    assert undecided(ends(run(1.0, spread=3.0, generations=1, **LATENCY)), Gate())[case].startswith("1 launch")


@pytest.mark.parametrize(("factor", "verdict"), [(1.3, Verdict.SLOWER), (1.0, Verdict.SAME)])
def test_a_case_with_a_verdict_is_decided_and_a_failed_one_is_not_waited_for(factor: float, verdict: Verdict) -> None:
    quiet = ends(run(factor, spread=0.05, generations=6, **LATENCY))
    assert judged(quiet).rows[0].verdict is verdict
    assert undecided(quiet, Gate()) == {}
    assert undecided(ends(run(1.0, failing=(B.id,), generations=4, **LATENCY)), Gate()) == {}


def test_looks_cost_confidence_and_only_where_verdicts_end_a_case() -> None:
    plain = run(1.3, generations=6, models=("resnet50",), scenarios=("latency", "memory"))
    fixed, looked = judged(plain), judged(ends(plain))

    def width(found: Comparison, metric: str) -> float:
        (row,) = [row for row in found.rows if row.metric == metric]
        assert row.ratio is not None
        assert row.ratio.low is not None
        assert row.ratio.high is not None
        return row.ratio.high - row.ratio.low

    assert width(looked, "latency") > 1.2 * width(fixed, "latency")
    assert width(looked, "memory") == width(fixed, "memory")
    assert "a look after every generation" in looked.method
    assert "a look after" not in fixed.method
