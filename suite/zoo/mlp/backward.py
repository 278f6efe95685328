"""The MLP's loss and gradients in NumPy float64, by hand."""

from collections.abc import Mapping
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
    kept = [batch["features"].astype(np.float64)]  # the input of each layer
    for layer in range(LAYERS - 1):
        kept.append(np.maximum(dense(w, layer, kept[-1]), 0))  # ReLU
    loss, slope = binary_cross_entropy(dense(w, LAYERS - 1, kept[-1])[:, 0], batch["labels"])
    gradients: dict[str, Array] = {}
    d: Array = slope[:, None]
    for layer in reversed(range(LAYERS)):
        gradients[f"layers.{layer}.weight"] = d.T @ kept[layer]
        gradients[f"layers.{layer}.bias"] = d.sum(axis=0)
        if layer:
            d = (d @ w[f"layers.{layer}.weight"]) * (kept[layer] > 0)
    return loss, gradients, {}
