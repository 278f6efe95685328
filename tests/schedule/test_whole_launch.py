"""What a worker says of its training to a target is checked: where it began, how it went on, and who may be asked."""

import math
from typing import Any, cast

import msgspec
import pytest

from levelfield.machine.signals import Signals
from levelfield.record.measured import Evaluation
from levelfield.record.schema import Absent, Arm, Block, Case, Launch
from levelfield.schedule import whole_launch
from levelfield.schedule.listener import SilentListener
from levelfield.schedule.outcomes import Outcome
from levelfield.schedule.resources import RunResources
from levelfield.schedule.training_verification import judge_convergence
from levelfield.worker.messages import Converged
from levelfield.zoo.training import convergence, parity, update
from tests import canaries
from tests.known import known

GOAL = convergence.goal("mlp")
CASE = Case("mlp", "convergence", "fp32", GOAL.batch, 2)
FOLLOWED = update.Judgement(error=5e-8, tolerance=2e-6, reason="")
JAX, TORCH = Arm("jax", "jax"), Arm("torch", "torch")


@pytest.fixture(scope="module")
def expected() -> convergence.ExpectedStart:
    return convergence.expected_start(GOAL, 0)


def converged(expected: convergence.ExpectedStart, **changes: Any) -> Converged:
    """What an honest worker says."""
    answer = Converged(
        points=(Evaluation(step=10, elapsed_ns=5_000_000, loss=1.5, accuracy=0.5),),
        losses=tuple(loss * (1 + 1e-7) for loss in expected.losses),
        weights_sha256=expected.weights_sha256,
        inputs_sha256=expected.inputs_sha256,
    )
    return msgspec.structs.replace(answer, **changes)


def test_a_training_that_begins_as_the_reference_is_equal(expected: convergence.ExpectedStart) -> None:
    judged = judge_convergence(converged(expected), FOLLOWED, expected, GOAL)
    assert judged.equal
    assert judged.relative_error == pytest.approx(1e-7, rel=0.01)
    assert judged.inputs == 10 * 64
    assert judged.projection == judged.training.losses if judged.training else False


@pytest.mark.parametrize(
    ("losses", "says"),
    [
        (lambda losses: tuple(loss * 1.001 for loss in losses), "the first ten steps are off by 1.0e-03"),
        (lambda losses: losses[:-1], "not comparable"),
        (lambda losses: (*losses, 1.0), "not comparable"),
        (lambda losses: losses[:0], "not comparable"),
        (lambda losses: (math.nan, *losses[1:]), "not comparable"),
    ],
)
def test_another_start_is_not_equal(expected: convergence.ExpectedStart, losses: Any, says: str) -> None:
    judged = judge_convergence(converged(expected, losses=losses(expected.losses)), FOLLOWED, expected, GOAL)
    assert not judged.equal
    assert says in judged.reason
    assert isinstance(judged.relative_error, Absent) == ("not comparable" in says)


def test_an_optimizer_that_does_not_follow_the_recipe_is_not_equal(expected: convergence.ExpectedStart) -> None:
    said = "Its optimizer does not follow the recipe."
    judged = judge_convergence(converged(expected), update.Judgement(0.1, 2e-6, said), expected, GOAL)
    assert not judged.equal
    assert judged.reason == said
    assert judged.training is not None
    assert (judged.training.errors.update, judged.training.tolerances.update) == (0.1, 2e-6)


def test_a_training_in_bf16_has_a_tolerance_and_a_claim_of_its_own(expected: convergence.ExpectedStart) -> None:
    lower = convergence.expected_start(GOAL, 0, "bf16")
    assert lower.losses == expected.losses
    assert lower.tolerance == parity.allowed(GOAL.lowered["bf16"], "bf16") > 100 * expected.tolerance
    rounded = converged(expected, losses=tuple(loss * (1 + 3e-3) for loss in expected.losses))
    judged = judge_convergence(rounded, FOLLOWED, lower, GOAL, "bf16")
    assert (judged.equal, judged.computed_in) == (True, "bf16"), judged.reason
    assert not judge_convergence(rounded, FOLLOWED, expected, GOAL).equal
    in_fp32 = judge_convergence(converged(expected), FOLLOWED, lower, GOAL, "bf16")
    assert (in_fp32.equal, in_fp32.computed_in) == (False, "fp32")
    wrong = converged(expected, losses=tuple(loss * 1.1 for loss in expected.losses))
    assert not judge_convergence(wrong, FOLLOWED, lower, GOAL, "bf16").equal


def opened(site: RunResources, block: Block, signals: Signals) -> whole_launch.OpenGeneration:
    return whole_launch.OpenGeneration(site, block, 0, 1, cast("Any", None), signals, SilentListener())


def test_nothing_is_trained_in_a_precision_without_a_tolerance(monkeypatch: pytest.MonkeyPatch) -> None:
    """No tolerance is known there: absent with the reason, and no failure."""
    own = msgspec.structs.replace(GOAL, lowered={})
    with pytest.raises(ValueError, match="in fp32 alone, not in bf16"):
        convergence.expected_start(own, 0, "bf16")
    case = msgspec.structs.replace(CASE, precision="bf16")
    block = Block(case=case, arms=(JAX, TORCH), planned_generations=5)
    site = canaries.site(canaries.plan("latency"))
    monkeypatch.setattr(type(site), "goal", lambda *_: own)
    with Signals((0,)) as signals:
        outcomes = whole_launch.trainings(opened(site, block, signals), block.arms)
    for outcome in outcomes:
        assert outcome.worker is None
        assert known(outcome.launch.failure).kind == "unsupported"


@pytest.mark.parametrize("what", ["weights", "inputs"])
def test_what_a_worker_trained_from_something_else_is_not_kept(
    expected: convergence.ExpectedStart, what: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    answer = converged(expected, **{f"{what}_sha256": "0" * 64})
    monkeypatch.setattr(whole_launch, "ask", lambda *_: answer)
    monkeypatch.setattr(whole_launch, "check_update", lambda *_: FOLLOWED)
    outcome = Outcome(JAX, CASE, Launch(arm=JAX.id, started=""))
    with Signals((0,)) as signals:
        whole_launch._train(outcome, GOAL, 0, expected, signals, {})
    assert outcome.launch.convergence is None
    assert f"jax holds other {what} for mlp than this run" in known(outcome.launch.failure).message
