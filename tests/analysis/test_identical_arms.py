"""One draw of a control proves nothing: draws are pooled, and what was wrong with one stays visible."""

import msgspec
import pytest

from levelfield.analysis import analyse, identical_arms
from levelfield.analysis.types import PooledControls
from levelfield.record.schema import ControlDraw, Run
from tests.records_builder import make_run


def with_control(*earlier: ControlDraw) -> Run:
    run = make_run(models=("resnet50",), scenarios=("latency",), control="onnxruntime")
    return msgspec.structs.replace(run, earlier_controls=earlier)


def draw(number: int, ratio: float, *, half: float | None = 0.02) -> ControlDraw:
    bounds = (None, None) if half is None else (ratio * (1 - half), ratio * (1 + half))
    return ControlDraw(f"run-{number}", "2026-11-20T10:00:00Z", "onnxruntime", "a case", ratio, *bounds)


def pooled(run: Run) -> PooledControls:
    found = analyse(run).identical
    assert found is not None
    return found


def test_a_run_without_a_control_has_nothing_to_pool() -> None:
    assert analyse(make_run(models=("mlp",), scenarios=("latency",))).identical is None


def test_a_run_s_own_control_is_one_draw() -> None:
    run = with_control()
    (own,) = identical_arms.draws(run, analyse(run).blocks)
    found = pooled(run)
    assert found.draws == 1
    assert found.ratio.value == pytest.approx(own.ratio)
    assert found.ratio.low is None
    assert found.different is not None
    assert (found.different.successes, found.different.trials) == (0, 1)


def test_earlier_draws_count_each_once_and_a_false_alarm_stays_one() -> None:
    found = pooled(with_control(draw(1, 1.0), draw(2, 0.95), draw(3, 1.05), draw(4, 1.01), draw(5, 0.99)))
    assert found.draws == 6
    assert found.different is not None
    assert (found.different.successes, found.different.trials) == (2, 6)
    assert found.ratio.low is not None
    assert found.ratio.high is not None
    assert found.ratio.low < 1 < found.ratio.high


def test_a_run_taken_up_again_does_not_meet_itself() -> None:
    run = with_control()
    own = identical_arms.draws(run, analyse(run).blocks)
    assert pooled(msgspec.structs.replace(run, earlier_controls=own)).draws == 1
