"""The training of the digits' MLP in JAX."""

import jax

from suite.zoo.digits_mlp.jax import forward
from suite.zoo.mlp.jax_training import restore
from suite.zoo.resnet50.jax_training import cross_entropy

__all__ = ["loss", "restore"]

Tensors = dict[str, jax.Array]


def loss(w: Tensors, statistics: Tensors, features: jax.Array, labels: jax.Array) -> tuple[jax.Array, Tensors]:
    """Compute cross-entropy over the classes, mean over the batch."""
    return cross_entropy(forward(w, features), labels), statistics
