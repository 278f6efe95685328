"""ResNet-50's training in JAX."""

from typing import Any

import jax
import numpy as np

from suite.zoo.resnet50.jax import network
from suite.zoo.training.recipe import BATCH_NORM
from suite.zoo.weights import Arrays

Tensors = dict[str, jax.Array]


def loss(w: Tensors, statistics: Tensors, images: jax.Array, labels: jax.Array) -> tuple[jax.Array, Tensors]:
    """Compute cross-entropy over the classes, mean over the batch, and the running statistics after it."""
    new: Tensors = {}

    def normalise(w: Tensors, name: str, x: jax.Array) -> jax.Array:
        return norm(w, statistics, new, name, x)

    return cross_entropy(network(w, images, normalise), labels), new


def cross_entropy(logits: jax.Array, labels: jax.Array) -> jax.Array:
    """Compute cross-entropy, mean over the batch, of `logits`, shape (batch, classes)."""
    chosen = jax.numpy.take_along_axis(jax.nn.log_softmax(logits), labels[:, None], axis=1)
    return -chosen.mean()


def norm(w: Tensors, statistics: Tensors, new: Tensors, name: str, x: jax.Array) -> jax.Array:
    """Apply BatchNorm with the statistics of the batch, and follow them.

    The variance is that of the differences from the mean: E[x²] − E[x]², which flax takes by default, is one pass less
    and loses digits. The running variance follows the unbiased one, as torch's does; flax's follows the biased one.
    """
    mean = x.mean(axis=(0, 1, 2))
    centred = x - mean
    variance = (centred * centred).mean(axis=(0, 1, 2))
    count = x.size // x.shape[-1]
    for part, batch in (("running_mean", mean), ("running_var", variance * (count / (count - 1)))):
        old = statistics[f"{name}.{part}"]
        new[f"{name}.{part}"] = (1 - BATCH_NORM.update) * old + BATCH_NORM.update * batch
    scale = w[f"{name}.weight"] * jax.lax.rsqrt(variance + BATCH_NORM.epsilon)
    return centred * scale + w[f"{name}.bias"]


def restore(weights: dict[str, Any]) -> Arrays:
    """Return tensors in the shapes of the specification: the inverse of `prepare`."""
    order = {4: (3, 2, 0, 1), 2: (1, 0), 1: (0,)}
    arrays = {name: np.asarray(array) for name, array in weights.items()}
    return {name: np.ascontiguousarray(array.transpose(order[array.ndim])) for name, array in arrays.items()}
