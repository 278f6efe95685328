"""The MLP's loss and gradients in NumPy float64, by hand."""

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from suite.zoo.mlp.reference import LAYERS, dense
from suite.zoo.training.losses import binary_cross_entropy

Tensors: TypeAlias = Mapping[str, npt.NDArray[Any]]
Array: TypeAlias = npt.NDArray[np.float64]


def loss_and_gradients(w: Tensors, batch: Tensors) -> tuple[float, dict[str, Array], dict[str, Array]]:
    """Compute the loss, its gradients by every weight, and no new statistics (there are none).

    Parameters
    ----------
    w
        Weights, float32 or float64.
    batch
        `features`, shape (batch, 200), and `labels`, shape (batch,).
    """

    def ending(logits: Array) -> tuple[float, Array]:
        loss, slope = binary_cross_entropy(logits[:, 0], batch["labels"])
        return loss, slope[:, None]

    return through(w, batch["features"], LAYERS, ending)


def through(
    w: Tensors, features: npt.NDArray[Any], layers: int, ending: Callable[[Array], tuple[float, Array]]
) -> tuple[float, dict[str, Array], dict[str, Array]]:
    """Go through dense layers with ReLU between them, forward and back.

    Parameters
    ----------
    w, features, layers
        Weights, what goes in, and how many layers there are.
    ending
        From the last layer's output to the loss, and its slope.
    """
    kept = [features.astype(np.float64)]  # the input of each layer
    for layer in range(layers - 1):
        kept.append(np.maximum(dense(w, layer, kept[-1]), 0))  # ReLU
    loss, d = ending(dense(w, layers - 1, kept[-1]))
    gradients: dict[str, Array] = {}
    for layer in reversed(range(layers)):
        gradients[f"layers.{layer}.weight"] = d.T @ kept[layer]
        gradients[f"layers.{layer}.bias"] = d.sum(axis=0)
        if layer:
            d = (d @ w[f"layers.{layer}.weight"]) * (kept[layer] > 0)
    return loss, gradients, {}
