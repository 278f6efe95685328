"""The training of the digits' ResNet in JAX, with ResNet-50's BatchNorm and loss."""

import jax

from suite.zoo.digits_resnet.jax import network
from suite.zoo.resnet50.jax_training import cross_entropy, norm, restore

__all__ = ["loss", "restore"]

Tensors = dict[str, jax.Array]


def loss(w: Tensors, statistics: Tensors, images: jax.Array, labels: jax.Array) -> tuple[jax.Array, Tensors]:
    """Compute cross-entropy over the classes, mean over the batch, and the running statistics after it."""
    new: Tensors = {}

    def normalise(w: Tensors, name: str, x: jax.Array) -> jax.Array:
        return norm(w, statistics, new, name, x)

    return cross_entropy(network(w, images, normalise), labels), new
