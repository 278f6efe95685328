"""The MLP in NumPy float64."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from levelfield.zoo.mlp import WIDTHS

LAYERS = len(WIDTHS) - 1


def forward(weights: Mapping[str, npt.NDArray[Any]], inputs: Mapping[str, npt.NDArray[Any]]) -> npt.NDArray[np.float64]:
    """Compute the probability, shape (batch, 1), from `features`, float32, shape (batch, 200)."""
    x = inputs["features"].astype(np.float64)
    for layer in range(LAYERS - 1):
        x = np.maximum(dense(weights, layer, x), 0)  # ReLU
    return sigmoid(dense(weights, LAYERS - 1, x))


def dense(weights: Mapping[str, npt.NDArray[Any]], layer: int, x: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Apply a dense layer: (batch, in) → (batch, out). `layer`: number of the layer, from 0 on."""
    weight = weights[f"layers.{layer}.weight"].astype(np.float64)
    product: npt.NDArray[np.float64] = x @ weight.T
    product += weights[f"layers.{layer}.bias"]
    return product


def sigmoid(x: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Return 1 / (1 + e⁻ˣ)."""
    return 1 / (1 + np.exp(-x))
