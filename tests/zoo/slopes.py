"""Finite differences of a model's loss."""

from typing import Any

import numpy as np

from levelfield.zoo import bits, models, weights
from levelfield.zoo.training.trajectory import loss_and_gradients

Tensors = dict[str, Any]


def doubled(arrays: weights.Arrays) -> Tensors:
    return {name: array.astype(np.float64) for name, array in arrays.items()}


def slope_along(name: str, state: Tensors, batch: Tensors, direction: Tensors, step: float) -> float:
    """Central difference of the loss along a direction."""
    model = models.get(name)
    ends = []
    for sign in (1, -1):
        moved = {key: array + sign * step * direction.get(key, 0.0) for key, array in state.items()}
        ends.append(loss_and_gradients(model, moved, batch)[0])
    return (ends[0] - ends[1]) / (2 * step)


def random_direction(name: str) -> Tensors:
    """A direction in which every trained tensor moves by about a hundredth of its size."""
    found = {}
    for parameter in models.get(name).trained:
        size = parameter.std or abs(parameter.mean)
        found[parameter.name] = 0.01 * size * bits.symmetric(f"direction/{parameter.name}", parameter.shape)
    return found
