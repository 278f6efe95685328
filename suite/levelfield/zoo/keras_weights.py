"""Which tensor of a model's specification each variable of a Keras network holds."""

from typing import Any

import numpy as np

from levelfield.zoo.weights import Arrays


def fill(layer: Any, w: Arrays, *names: str) -> None:  # noqa: ANN401 (a layer of Keras's)
    """Set a layer's variables, each in its own shape, and note in each which tensor it holds."""
    for variable, name in zip(layer.weights, names, strict=True):
        variable.assign(w[name].reshape(variable.shape))
        variable.tensor = name


def variables(network: Any) -> dict[str, Any]:  # noqa: ANN401 (a model of Keras's)
    """Return a network's variables by the names of their tensors: all that `fill` has set."""
    return {each.tensor: each for each in network.weights if hasattr(each, "tensor")}


def array(tensor: Any, shape: tuple[int, ...]) -> np.ndarray[Any, Any]:  # noqa: ANN401 (a variable, or a tensor)
    """Copy a variable to host memory."""
    import keras

    return np.array(keras.ops.convert_to_numpy(tensor)).reshape(shape)
