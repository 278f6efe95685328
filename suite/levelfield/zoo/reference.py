"""The reference: each model in NumPy float64. It is the definition of what is computed."""

from collections.abc import Mapping
from functools import partial
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from levelfield.zoo.spec import Model

_Tensors: TypeAlias = Mapping[str, npt.NDArray[Any]]


def run(model: Model, weights: _Tensors, inputs: _Tensors) -> npt.NDArray[np.float64]:
    """Compute a model's output in float64. `inputs`: its inputs, from `zoo.inputs.make`, shape (batch, …)."""
    batch = len(inputs[model.inputs[0].name])
    size = model.reference_batch
    forward = model.module("reference").forward
    if model.operator is not None:
        forward = partial(forward, model)
    parts = [
        forward(weights, {name: array[start : start + size] for name, array in inputs.items()})
        for start in range(0, batch, size)
    ]
    return np.concatenate(parts)
