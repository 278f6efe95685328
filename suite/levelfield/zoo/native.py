"""Where a model's definition in a native framework is, and how it takes weights; imported only when it is asked for."""

from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np

from levelfield.zoo.spec import Model, is_table
from levelfield.zoo.weights import Arrays

FRAMEWORKS = ("torch", "jax", "tensorflow", "keras")


def definition(model: Model, framework: str) -> ModuleType | SimpleNamespace:
    """Import a model's definition, and with it the framework.

    A `torch` definition has `build(model)`, and for training `prepare(network)` and `loss(network, *batch)`. The other
    definitions have `forward(weights, *inputs)`, with weights as `channels_last` returns them and images as (batch,
    height, width, channels), and `loss(weights, statistics, *batch)`, which also returns the new running statistics.
    Of a single operator, `of(model)` of these modules returns such a definition.
    A `keras` definition has `build(weights)`, which returns the network with such weights in it, and
    `trainable(weights)`, which returns what is trained, what answers with the same variables, and the loss.

    Batches are in the order of `zoo.training.batches.names`.

    Raises ImportError: if the framework is not installed. Raises ValueError: if the model has no definition in that
    framework.
    """
    try:
        if framework in FRAMEWORKS:
            module = model.module(framework)
            if model.operator is None or framework == "torch":
                return module
            found: SimpleNamespace = module.of(model)
            return found
    except ModuleNotFoundError as error:
        if error.name != model.module_name(framework):
            raise
    raise ValueError(f"{model.title} has no definition in {framework}.")


def channels_last(weights: Arrays) -> dict[str, Any]:
    """Return weights as JAX and TensorFlow take them.

    Kernels are (height, width, in, out), matrices (in, out); tables of embeddings keep one row a word, and tensors of
    three dimensions stay as they are.
    """
    return _transposed(weights, {4: (2, 3, 1, 0), 3: (0, 1, 2), 2: (1, 0), 1: (0,)})


def channels_first(weights: dict[str, Any]) -> Arrays:
    """Return tensors in the shapes of the specification: the inverse of `channels_last`."""
    return _transposed(
        {name: np.asarray(array) for name, array in weights.items()},
        {4: (3, 2, 0, 1), 3: (0, 1, 2), 2: (1, 0), 1: (0,)},
    )


def _transposed(weights: Arrays, order: dict[int, tuple[int, ...]]) -> Arrays:
    return {
        name: array if is_table(name) and array.ndim == 2 else np.ascontiguousarray(array.transpose(order[array.ndim]))
        for name, array in weights.items()
    }


def fill(layer: Any, w: Arrays, *names: str) -> None:  # noqa: ANN401 (a layer of Keras's)
    """Set a layer's variables, each in its own shape, and note in each which tensor it holds."""
    for variable, name in zip(layer.weights, names, strict=True):
        variable.assign(w[name].reshape(variable.shape))
        variable.tensor = name


def keras_variables(network: Any) -> dict[str, Any]:  # noqa: ANN401 (a model of Keras's)
    """Return a network's variables by the names of their tensors: all that `fill` has set."""
    return {each.tensor: each for each in network.weights if hasattr(each, "tensor")}


def keras_array(tensor: Any, shape: tuple[int, ...]) -> np.ndarray[Any, Any]:  # noqa: ANN401 (a variable, or a tensor)
    """Copy a variable to host memory."""
    import keras

    return np.array(keras.ops.convert_to_numpy(tensor)).reshape(shape)
