"""The MLP's training in JAX."""

from typing import Any

import jax
import numpy as np

from suite.zoo.mlp.jax import logits
from suite.zoo.weights import Arrays

Tensors = dict[str, jax.Array]


def loss(w: Tensors, statistics: Tensors, features: jax.Array, labels: jax.Array) -> tuple[jax.Array, Tensors]:
    """Compute binary cross-entropy from the logits, mean over the batch."""
    z = logits(w, features)[:, 0]
    return (jax.nn.softplus(z) - labels * z).mean(), statistics


def restore(weights: dict[str, Any]) -> Arrays:
    """Return tensors in the shapes of the specification: the inverse of `prepare`."""
    return {name: np.ascontiguousarray(np.asarray(array).T) for name, array in weights.items()}
