"""The reference: each model in NumPy float64. It is the definition of what is computed."""

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from suite.zoo.bert.reference import forward as bert
from suite.zoo.canary import forward as canary
from suite.zoo.mlp.reference import forward as mlp
from suite.zoo.resnet50.reference import forward as resnet50
from suite.zoo.spec import Model

_Tensors: TypeAlias = Mapping[str, npt.NDArray[Any]]

_FORWARD: dict[str, Callable[[_Tensors, _Tensors], npt.NDArray[np.float64]]] = {
    "mlp": mlp,
    "resnet50": resnet50,
    "bert": bert,
    "canary": canary,
}

# Items computed at a time: bounds the memory of the float64 intermediates to some hundreds of megabytes.
_CHUNK = {"mlp": 4096, "resnet50": 4, "bert": 8, "canary": 1}


def run(model: Model, weights: _Tensors, inputs: _Tensors) -> npt.NDArray[np.float64]:
    """Compute a model's output in float64.

    Parameters
    ----------
    model
        The model.
    weights
        Its float32 weights, from `suite.zoo.weights.make` or `load`.
    inputs
        Its inputs, from `suite.zoo.inputs.make`, shape (batch, …).

    Returns
    -------
    ndarray
        Shape (batch, …), float64.
    """
    batch = len(inputs[model.inputs[0].name])
    size = _CHUNK[model.name]
    parts = [
        _FORWARD[model.name](weights, {name: array[start : start + size] for name, array in inputs.items()})
        for start in range(0, batch, size)
    ]
    return np.concatenate(parts)
