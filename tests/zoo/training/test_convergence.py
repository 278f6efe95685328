"""What is trained to a target: its gradients, its tolerance, and that the reference itself gets there."""

import msgspec
import numpy as np
import pytest

from levelfield.zoo import models, weights
from levelfield.zoo.digits import data
from levelfield.zoo.mlp.reference import dense
from levelfield.zoo.resnet50.spec import SMALL, convolutions
from levelfield.zoo.training import convergence, parity, recipe
from levelfield.zoo.training.optimizers import Updater
from levelfield.zoo.training.trajectory import loss_and_gradients

STEP = 1e-7


def test_there_is_a_goal_for_what_a_user_can_name() -> None:
    assert set(convergence.GOALS) < set(models.names())
    assert [name for name in models.names() if name in convergence.GOALS] == ["mlp", "resnet50"]
    with pytest.raises(ValueError, match="bert is not trained to a target; there are mlp, resnet50"):
        convergence.goal("bert")
    for goal in convergence.GOALS.values():
        assert goal.target == 0.97
        assert goal.steps % goal.every == 0
        assert f"batch {goal.batch}, {goal.steps} steps" in recipe.describe(goal)
    assert not set(models.names()) & {goal.network for goal in convergence.GOALS.values()}


@pytest.mark.parametrize("name", ["digits_mlp", "digits_resnet"])
def test_gradients_are_those_of_finite_differences(name: str) -> None:
    """Along a random direction in each tensor; the loss is smooth there but for ReLUs, which so small a step spares."""
    model = models.get(name)
    state = {key: array.astype(np.float64) for key, array in convergence.weights(model, 1).items()}
    batch = next(data.batches(data.load(model).train, data.schedule(1, 1, 16)))
    _, gradients, _ = loss_and_gradients(model, state, batch)
    rng = np.random.default_rng(5)
    for parameter in model.trained:
        direction = rng.standard_normal(parameter.shape)
        sides = []
        for sign in (1, -1):
            moved = state | {parameter.name: state[parameter.name] + sign * STEP * direction}
            sides.append(loss_and_gradients(model, moved, batch)[0])
        slope = (sides[0] - sides[1]) / (2 * STEP)
        expected = float((gradients[parameter.name] * direction).sum())
        assert slope == pytest.approx(expected, rel=2e-4, abs=2e-7), parameter.name


def test_the_resnet_is_made_of_bottlenecks() -> None:
    convs = {conv.name: conv for conv in convolutions(SMALL, (1, 8, 8))}
    assert [convs[f"layer2.0.conv{number}"].kernel for number in (1, 2, 3)] == [1, 3, 1]
    assert convs["layer2.0.conv2"].stride == 2, "v1.5: the 3×3 has the stride"
    assert convs["layer2.0.conv3"].size_out == 4
    named = {parameter.name for parameter in models.get("digits_resnet").parameters}
    assert {f"{conv.name}.weight" for conv in convs.values()} < named


def test_a_seed_is_other_weights_and_the_same_again() -> None:
    model = models.get("digits_mlp")
    digests = [weights.sha256(convergence.weights(model, seed)) for seed in (0, 1, 1)]
    assert digests[0] != digests[1] == digests[2]


@pytest.mark.parametrize("precision", ["fp32", "bf16"])
def test_the_tolerance_is_the_references_own_sensitivity(precision: str) -> None:
    recorded = convergence.sensitivities(convergence.goal("mlp"))[precision]
    assert 0.8 * recorded < convergence.sensitivity(convergence.goal("mlp"), precision=precision) <= 1.001 * recorded


def test_what_trains_otherwise_is_over_the_tolerance() -> None:
    """Traps that a loss curve hardly shows: they must show in the first ten losses."""
    for name in ("mlp", "resnet50"):
        goal = convergence.goal(name)
        right = convergence.expected_start(goal, 0)
        assert right.tolerance == parity.allowed(goal.sensitivity)
        optimizer = msgspec.structs.replace(goal.optimizer, learning_rate=0.9 * goal.optimizer.learning_rate)
        slower = msgspec.structs.replace(goal, optimizer=optimizer)
        for wrong in (convergence.first_losses(slower, 0), convergence.first_losses(goal, 1), right.losses[:-1]):
            assert parity.largest(wrong, right.losses) > right.tolerance
        assert parity.largest(right.losses, right.losses) == 0


def test_the_reference_itself_reaches_the_target() -> None:
    """In NumPy alone: a framework that does not has another reason than the recipe."""
    goal = convergence.goal("mlp")
    model = models.get(goal.network)
    split = data.load(model)
    state = {name: array.astype(np.float64) for name, array in convergence.weights(model, 0).items()}
    updater = Updater(model, goal.optimizer)
    for batch in data.batches(split.train, convergence.schedule(goal, 0)[:300]):
        _, gradients, _ = loss_and_gradients(model, state, batch)
        updater.update(state, gradients)
    x = split.test["features"].astype(np.float64)
    for layer in range(3):
        x = dense(state, layer, x)
        x = np.maximum(x, 0) if layer < 2 else x
    assert float((x.argmax(axis=1) == split.test["labels"]).mean()) >= goal.target
