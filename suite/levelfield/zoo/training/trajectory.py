"""The trajectory that every framework must follow: ten steps from the seeded weights, in float64.

What is compared of it:

losses
    Of the ten steps, each before its update; every step has a batch of its own.
gradients
    The Euclidean norm of the first step's gradient, one number for each trained tensor.
weights, statistics
    How far the trained tensors, and BatchNorm's running statistics, are from where they began after the ten steps: for
    each tensor eight sums of its change under fixed random signs, which estimate distances (see `change`). A decay that
    is missing or applied to biases, or a variance that is not the unbiased one, hardly shows in losses: here it does.
"""

import math
from collections.abc import Iterable, Mapping
from typing import Any, TypeAlias

import msgspec
import numpy as np
import numpy.typing as npt

from levelfield.zoo import bits, models, rounding
from levelfield.zoo.spec import Model, Parameter
from levelfield.zoo.training import batches, recipe
from levelfield.zoo.training.optimizers import Updater
from levelfield.zoo.weights import SEED

Tensors: TypeAlias = Mapping[str, npt.NDArray[Any]]
Float64s: TypeAlias = dict[str, npt.NDArray[np.float64]]

SIGNS = 8
"""Sums of each tensor's change."""
_PATTERNS = np.unpackbits(np.arange(256, dtype=np.uint8)[:, None], axis=1, bitorder="little") * 2.0 - 1.0
"""The signs that each value of a byte stands for, (256, 8)."""
_CHUNK = 1 << 20


class Trajectory(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Ten steps of training, in numbers that can be compared."""

    losses: tuple[float, ...]
    gradients: tuple[float, ...]
    """One for each trained tensor, in the order of the specification."""
    weights: tuple[float, ...]
    """Eight for each trained tensor."""
    statistics: tuple[float, ...] = ()
    """Eight for each running statistic; none where the model has none."""


def run(
    model: Model,
    weights: Tensors,
    *,
    batch: int | None = None,
    steps: int = recipe.STEPS,
    significand: int | None = None,
) -> Trajectory:
    """Train in float64: the definition of the trajectory.

    `batch`: items in each step; that of the model's recipe where None. `significand`: bits that the products keep
    (`zoo.rounding`); None: all is in float64, which is the definition.
    """
    rule = models.recipe(model.name)
    size = batch or rule.trajectory_batch
    state = {name: array.astype(np.float64) for name, array in weights.items()}
    updater = Updater(model, rule.optimizer)
    losses: list[float] = []
    first: tuple[float, ...] = ()
    for step in range(steps):
        given = batches.make(model, step * size, size)
        loss, gradients, statistics = loss_and_gradients(model, state, given, significand=significand)
        losses.append(loss)
        first = first or norms(model, gradients)
        updater.update(state, gradients)
        state |= statistics
    return Trajectory(tuple(losses), first, *changes(model, weights, state))


def loss_and_gradients(
    model: Model, weights: Tensors, batch: Tensors, *, significand: int | None = None
) -> tuple[float, Float64s, Float64s]:
    """Compute a model's loss, its gradients by every trained tensor, and the running statistics after the batch."""
    compute = model.module("backward").loss_and_gradients
    if significand is None:
        found: tuple[float, Float64s, Float64s] = compute(weights, batch)
        return found
    rounded = {
        name: rounding.lowered(array.astype(np.float64, copy=False), significand) for name, array in weights.items()
    }
    loss, gradients, statistics = compute(rounded, batch)
    plain = [{name: rounding.exact(array) for name, array in each.items()} for each in (gradients, statistics)]
    return float(loss), plain[0], plain[1]


def norms(model: Model, gradients: Tensors) -> tuple[float, ...]:
    """Return the Euclidean norm of each trained tensor's gradient, summed in float64."""
    return tuple(
        float(np.linalg.norm(gradients[parameter.name].astype(np.float64).reshape(-1))) for parameter in model.trained
    )


def changes(model: Model, before: Tensors, after: Tensors) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Return what became of the trained tensors and of the running statistics, eight sums for each."""
    return _changes(model, model.trained, before, after), _changes(model, model.statistics, before, after)


def _changes(model: Model, parameters: Iterable[Parameter], before: Tensors, after: Tensors) -> tuple[float, ...]:
    return tuple(
        value
        for parameter in parameters
        for value in change(
            f"{SEED}/{model.name}/changes/{parameter.name}", before[parameter.name], after[parameter.name]
        )
    )


def change(name: str, before: npt.NDArray[Any], after: npt.NDArray[Any]) -> tuple[float, ...]:
    """Sum a tensor's change under eight fixed random patterns of signs, scaled by 1/√8.

    The squared distance of two such vectors estimates that of the tensors (Achlioptas, "Database-friendly random
    projections", 2003), whatever their size.
    """
    first, second = before.reshape(-1), np.ascontiguousarray(after).reshape(-1)
    stream = bits.generator(name)
    # Each byte of the stream is one element's signs; elements of one byte are summed before the signs are applied.
    sums = np.zeros(len(_PATTERNS))
    for start in range(0, first.size, _CHUNK):
        moved = second[start : start + _CHUNK].astype(np.float64) - first[start : start + _CHUNK]
        drawn = np.asarray(stream.random_raw(-(-moved.size // 8)), dtype="<u8").view(np.uint8)[: moved.size]
        sums += np.bincount(drawn, weights=moved, minlength=sums.size)
    total = sums @ _PATTERNS
    return tuple(float(value) for value in total / math.sqrt(SIGNS))
