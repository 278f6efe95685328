"""The digits' ResNet in JAX. Tensors are (batch, height, width, channels)."""

import jax

from suite.zoo.digits_resnet.spec import blocks
from suite.zoo.resnet50.jax import Norm, bottleneck, conv, norm, prepare

__all__ = ["forward", "network", "prepare"]


def forward(w: dict[str, jax.Array], images: jax.Array) -> jax.Array:
    """Compute `logits`, shape (batch, 10), from `images`, shape (batch, 8, 8, 1)."""
    return network(w, images, norm)


def network(w: dict[str, jax.Array], images: jax.Array, normalise: Norm) -> jax.Array:
    """Compute `logits` with one or the other BatchNorm."""
    x = jax.nn.relu(normalise(w, "bn1", conv(w, "conv1", images, padding=1)))
    for name, _, _, stride in blocks():
        x = bottleneck(w, name, x, stride, normalise)
    return x.mean(axis=(1, 2)) @ w["fc.weight"] + w["fc.bias"]
