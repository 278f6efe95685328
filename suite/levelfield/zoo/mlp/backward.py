"""The MLPs' losses and gradients in NumPy float64, by hand."""

from collections.abc import Mapping
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from levelfield.zoo.mlp.reference import dense
from levelfield.zoo.training.optimizers import binary_cross_entropy, cross_entropy

Tensors: TypeAlias = Mapping[str, npt.NDArray[Any]]
Array: TypeAlias = npt.NDArray[np.float64]


def loss_and_gradients(w: Tensors, batch: Tensors) -> tuple[float, dict[str, Array], dict[str, Array]]:
    """Compute the loss, its gradients by every weight, and no new statistics (there are none).

    `batch`: `features`, shape (batch, first width), and `labels`, shape (batch,).
    """
    layers = len(w) // 2
    kept = [batch["features"].astype(np.float64)]  # the input of each layer
    for layer in range(layers - 1):
        kept.append(np.maximum(dense(w, layer, kept[-1]), 0))  # ReLU
    loss, d = _loss(dense(w, layers - 1, kept[-1]), batch["labels"])
    gradients: dict[str, Array] = {}
    for layer in reversed(range(layers)):
        gradients[f"layers.{layer}.weight"] = d.T @ kept[layer]
        gradients[f"layers.{layer}.bias"] = d.sum(axis=0)
        if layer:
            d = (d @ w[f"layers.{layer}.weight"]) * (kept[layer] > 0)
    return loss, gradients, {}


def _loss(logits: Array, labels: npt.NDArray[Any]) -> tuple[float, Array]:
    """Return the loss and its slope: of one logit that of its probability, of several that of classes."""
    if logits.shape[1] > 1:
        return cross_entropy(logits, labels)
    loss, slope = binary_cross_entropy(logits[:, 0], labels)
    return loss, slope[:, None]
