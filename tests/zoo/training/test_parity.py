"""The gate lets the reference's own rounding through, and every known mistake of training not."""

import math
from collections.abc import Callable
from typing import Any

import msgspec
import numpy as np
import pytest

from levelfield.zoo import models, rounding, weights
from levelfield.zoo.mlp import backward as mlp_backward
from levelfield.zoo.spec import Parameter
from levelfield.zoo.training import parity, trajectory
from levelfield.zoo.training.recipe import AdamW
from levelfield.zoo.training.trajectory import Trajectory

MLP = models.get("mlp")
BATCH = models.recipe("mlp").trajectory_batch
Array = np.ndarray[Any, np.dtype[np.float64]]


@pytest.fixture(scope="module")
def mlp_weights() -> weights.Arrays:
    return weights.make(MLP)


@pytest.fixture(scope="module")
def right(mlp_weights: weights.Arrays) -> Trajectory:
    return trajectory.run(MLP, mlp_weights, batch=BATCH)


def test_the_rounding_of_weights_is_let_through(mlp_weights: weights.Arrays, right: Trajectory) -> None:
    moved = trajectory.run(MLP, parity.perturbed(MLP, mlp_weights, 99), batch=BATCH)
    judged = parity.judge(moved, right, "mlp")
    assert judged.equal, judged
    assert judged.errors.losses > 0


def changed_rule(**changes: float) -> Callable[[pytest.MonkeyPatch], None]:
    def apply(patch: pytest.MonkeyPatch) -> None:
        rule = models.recipe("mlp")
        assert isinstance(rule.optimizer, AdamW)
        other = msgspec.structs.replace(rule, optimizer=msgspec.structs.replace(rule.optimizer, **changes))
        patch.setattr(models, "recipe", lambda _: other)

    return apply


def everything_decays(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Parameter, "decays", True)


def summed_loss(patch: pytest.MonkeyPatch) -> None:
    backward = mlp_backward.loss_and_gradients

    def summed(w: Any, batch: Any) -> Any:
        loss, gradients, statistics = backward(w, batch)
        return loss * BATCH, {name: each * BATCH for name, each in gradients.items()}, statistics

    patch.setattr(mlp_backward, "loss_and_gradients", summed)


MISTAKES = {
    "no weight decay": changed_rule(weight_decay=0.0),
    "Keras's decay": changed_rule(weight_decay=0.004),
    "decay of biases too": everything_decays,
    "another epsilon": changed_rule(epsilon=1e-7),
    "another beta": changed_rule(beta2=0.99),
    "a learning rate off by a thousandth": changed_rule(learning_rate=1.001e-3),
    "a summed loss": summed_loss,
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_caught(
    monkeypatch: pytest.MonkeyPatch, mlp_weights: weights.Arrays, right: Trajectory, mistake: str
) -> None:
    MISTAKES[mistake](monkeypatch)
    judged = parity.judge(trajectory.run(MLP, mlp_weights, batch=BATCH), right, "mlp")
    assert not judged.equal, judged.errors
    assert "allowed" in judged.reason


def wrong_gradients(change: Callable[[str, Array], Array]) -> Callable[[pytest.MonkeyPatch], None]:
    def apply(patch: pytest.MonkeyPatch) -> None:
        backward = mlp_backward.loss_and_gradients

        def wrong(w: Any, batch: Any) -> Any:
            loss, gradients, statistics = backward(w, batch)
            return loss, {name: change(name, each) for name, each in gradients.items()}, statistics

        patch.setattr(mlp_backward, "loss_and_gradients", wrong)

    return apply


WRONG_GRADIENTS = {
    "a summed loss": summed_loss,
    "summed gradients": wrong_gradients(lambda _, each: each * BATCH),
    "gradients too large by a twentieth": wrong_gradients(lambda _, each: each * 1.05),
    "no gradient of the middle layer": wrong_gradients(lambda name, each: each * ("layers.3.weight" not in name)),
    "no gradients of biases": wrong_gradients(lambda name, each: each * (not name.endswith("bias"))),
    "gradients of the other sign": wrong_gradients(lambda _, each: -each),
}


@pytest.mark.parametrize("precision", ["bf16", "fp16"])
def test_the_rounding_of_products_is_let_through(
    precision: str, mlp_weights: weights.Arrays, right: Trajectory
) -> None:
    """By a draw that the sensitivity does not know."""
    moved = parity.perturbed(MLP, mlp_weights, 99, precision)
    found = trajectory.run(MLP, moved, batch=BATCH, significand=rounding.SIGNIFICANDS[precision])
    judged = parity.judge(found, right, "mlp", precision)
    assert judged.equal, judged
    assert not parity.judge(found, right, "mlp").equal, "in fp32 it is not"


@pytest.mark.parametrize("mistake", WRONG_GRADIENTS)
def test_a_wrong_gradient_is_caught_in_bf16(
    monkeypatch: pytest.MonkeyPatch, mlp_weights: weights.Arrays, right: Trajectory, mistake: str
) -> None:
    """Though all else is as bf16 rounds it. The optimizer is checked by itself, in float32 (`test_update`)."""
    WRONG_GRADIENTS[mistake](monkeypatch)
    found = trajectory.run(MLP, mlp_weights, batch=BATCH, significand=rounding.SIGNIFICANDS["bf16"])
    judged = parity.judge(found, right, "mlp", "bf16")
    assert not judged.equal, judged.errors
    assert "allowed" in judged.reason


def test_a_precision_without_a_sensitivity_has_no_tolerance() -> None:
    with pytest.raises(ValueError, match="training mlp in int8; there are fp32, bf16, fp16"):
        parity.tolerances("mlp", "int8")


def test_a_training_that_diverged_is_called_so(right: Trajectory) -> None:
    diverged = msgspec.structs.replace(right, losses=(*right.losses[:3], math.nan, *right.losses[4:]))
    assert parity.judge(diverged, right, "mlp").reason.startswith("Training diverged: the loss of step 4")


@pytest.mark.parametrize("precision", ["fp32", "bf16", "fp16"])
def test_the_table_of_sensitivities_is_what_it_says(precision: str) -> None:
    found, recorded = parity.sensitivity(MLP, precision=precision), parity.sensitivity_of("mlp", precision)
    assert found.losses == pytest.approx(recorded.losses, rel=0.05)
    assert found.gradients == pytest.approx(recorded.gradients, rel=0.05)
    assert found.weights == pytest.approx(recorded.weights, rel=0.05)
