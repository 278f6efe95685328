"""The MLP in JAX."""

from typing import Any

import jax
import numpy as np

from suite.zoo.mlp.spec import WIDTHS
from suite.zoo.weights import Arrays

LAYERS = len(WIDTHS) - 1


def prepare(weights: Arrays) -> dict[str, Any]:
    """Return the weights as the network wants them: matrices as (in, out)."""
    return {name: np.ascontiguousarray(array.T) for name, array in weights.items()}


def forward(w: dict[str, jax.Array], features: jax.Array) -> jax.Array:
    """Compute the probability, shape (batch, 1), from `features`, shape (batch, 200)."""
    return jax.nn.sigmoid(logits(w, features))


def logits(w: dict[str, jax.Array], features: jax.Array, layers: int = LAYERS) -> jax.Array:
    """Compute what the sigmoid is taken of, shape (batch, width of the last of `layers`)."""
    x = features
    for layer in range(layers - 1):
        x = jax.nn.relu(dense(w, layer, x))
    return dense(w, layers - 1, x)


def dense(w: dict[str, jax.Array], layer: int, x: jax.Array) -> jax.Array:
    """Apply a dense layer: (batch, in) → (batch, out)."""
    return x @ w[f"layers.{layer}.weight"] + w[f"layers.{layer}.bias"]
