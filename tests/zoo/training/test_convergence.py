"""What is trained to a target: its gradients, its tolerance, and that the reference itself gets there."""

import msgspec
import numpy as np
import pytest

from levelfield.zoo import digits, models
from levelfield.zoo.training import convergence, parity
from levelfield.zoo.training.trajectory import loss_and_gradients

STEP = 1e-7


@pytest.mark.parametrize("name", ["digits_mlp", "digits_resnet"])
def test_gradients_are_those_of_finite_differences(name: str) -> None:
    """Along a random direction in each tensor; the loss is smooth there but for ReLUs, which so small a step spares."""
    model = models.get(name)
    state = {key: array.astype(np.float64) for key, array in convergence.weights(model, 1).items()}
    batch = next(digits.batches(digits.load(model).train, digits.schedule(1, 1, 16)))
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
