"""Training to a target: networks, hyper-parameters, data order and stopping rule, all of them, for all frameworks.

Time to accuracy as DAWNBench (Coleman et al. 2017) and MLPerf Training (Mattson et al., arXiv:1910.01500) define it:
from the first step to the first evaluation whose accuracy on images never trained on is the target or above. What a
seed chooses is the weights that training begins with and the order of batches; nothing else is random.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, TypeAlias

import msgspec
import numpy as np
import numpy.typing as npt

from levelfield.zoo import bits, digits, models, rounding
from levelfield.zoo.digits import Split
from levelfield.zoo.spec import Model
from levelfield.zoo.training import parity, recipe
from levelfield.zoo.training.optimizers import Updater
from levelfield.zoo.training.recipe import Goal
from levelfield.zoo.training.trajectory import loss_and_gradients
from levelfield.zoo.weights import SEED, Arrays, sha256

Tensors: TypeAlias = Mapping[str, npt.NDArray[Any]]

GOALS: Mapping[str, Goal] = MappingProxyType(
    {model.name: model.goal for model in map(models.get, models.names()) if model.goal is not None}
)
"""By the model whose layers the network has, which is what a user names."""


class ExpectedStart(msgspec.Struct, frozen=True):
    """How a training must begin: the float64 reference's first losses from a seed's weights, and their tolerance."""

    losses: tuple[float, ...]
    tolerance: float
    """Of the largest relative error."""
    weights_sha256: str
    inputs_sha256: str
    """Of the images, their split and the order of batches."""


def goal(model: str, *, target: float | None = None) -> Goal:
    """Return how a model's network is trained to a target. Raises ValueError: there is no such network."""
    if model not in GOALS:
        raise ValueError(f"{model} is not trained to a target; there are {', '.join(GOALS)}.")
    found = GOALS[model]
    return found if target is None else msgspec.structs.replace(found, target=target)


def split(goal: Goal) -> Split:
    """Return what is trained on and what is tested with, as the goal's network takes it.

    Raises ValueError: the images are missing, or are not those that were published.
    """
    return digits.load(models.get(goal.network))


def weights(network: Model, seed: int) -> Arrays:
    """Return the weights that training begins with: another seed, other weights; float32, C order."""
    return {
        each.name: bits.scaled(
            f"{SEED}/{network.name}/begin/{seed}/{each.name}", each.shape, mean=each.mean, std=each.std
        )
        for each in network.parameters
    }


def schedule(goal: Goal, seed: int) -> npt.NDArray[np.int32]:
    """Return the images of every step, shape (steps, batch)."""
    return digits.schedule(seed, goal.steps, goal.batch)


def loaded_sha256(goal: Goal) -> tuple[str, str]:
    """Return the digests of what every worker holds once it is loaded: the first seed's weights, and the images."""
    network = models.get(goal.network)
    return sha256(weights(network, 0)), digits.inputs_sha256(split(goal))


def first_losses(
    goal: Goal, seed: int, begin: Tensors | None = None, *, significand: int | None = None
) -> tuple[float, ...]:
    """Return the losses of the first ten steps in float64, each before its update: the definition of the training.

    `begin`: weights to begin with; the seed's own where None. `significand`: bits that the products keep
    (`zoo.rounding`); None: all is in float64, which is the definition.
    """
    network = models.get(goal.network)
    start: Tensors = weights(network, seed) if begin is None else begin
    state = {name: array.astype(np.float64) for name, array in start.items()}
    updater = Updater(network, goal.optimizer)
    losses: list[float] = []
    for batch in digits.batches(split(goal).train, schedule(goal, seed)[: recipe.STEPS]):
        loss, gradients, statistics = loss_and_gradients(network, state, batch, significand=significand)
        losses.append(loss)
        updater.update(state, gradients)
        state |= statistics
    return tuple(losses)


def sensitivities(goal: Goal) -> dict[str, float]:
    """Return the largest errors that rounding alone makes of the first losses, by precision."""
    return {parity.FP32: goal.sensitivity, **goal.lowered}


def why_not(goal: Goal, precision: str) -> str:
    """Say why nothing is trained to a goal in a precision; empty where it can be."""
    known = sensitivities(goal)
    if precision in known:
        return ""
    return (
        f"The {goal.title} is trained to a target in {', '.join(known)} alone, not in {precision}: what its "
        "rounding makes of the first steps is not known, so nothing would tell a wrong training."
    )


def expected_start(goal: Goal, seed: int, precision: str = parity.FP32) -> ExpectedStart:
    """Compute how a training must begin. Raises ValueError: nothing is known of training it in that precision."""
    if reason := why_not(goal, precision):
        raise ValueError(reason)
    network = models.get(goal.network)
    return ExpectedStart(
        losses=first_losses(goal, seed),
        tolerance=parity.allowed(sensitivities(goal)[precision], precision),
        weights_sha256=sha256(weights(network, seed)),
        inputs_sha256=digits.inputs_sha256(split(goal), schedule(goal, seed)),
    )


def sensitivity(goal: Goal, seeds: int = 10, precision: str = parity.FP32) -> float:
    """Return the largest error that rounding makes of the reference's own first losses.

    Many seeds are needed: it is rare that so little turns a ReLU on or off, and then it matters.
    """
    network, lowered = models.get(goal.network), rounding.SIGNIFICANDS.get(precision)

    def moved(seed: int, draw: int) -> tuple[float, ...]:
        begin = parity.perturbed(network, weights(network, seed), draw, precision)
        return first_losses(goal, seed, begin, significand=lowered)

    return max(
        parity.largest(moved(seed, draw), reference)
        for seed in range(seeds)
        for reference in [first_losses(goal, seed)]
        for draw in range(parity.draws(precision))
    )
