"""The ResNets in JAX. Tensors are (batch, height, width, channels)."""

from collections.abc import Callable
from typing import TypeAlias

import jax
import jax.numpy as jnp
import numpy as np

from levelfield.zoo.resnet50 import EPSILON, Sizes, sizes_of
from levelfield.zoo.training.recipe import BATCH_NORM

Tensors = dict[str, jax.Array]
Norm: TypeAlias = Callable[[Tensors, str, jax.Array], jax.Array]
"""BatchNorm as `norm` has it, or as training wants it (`batch_norm`)."""


def forward(w: Tensors, images: jax.Array, *, sizes: Sizes | None = None) -> jax.Array:
    """Compute `logits`, shape (batch, classes), from `images`, shape (batch, height, width, channels)."""
    return network(w, images, norm, sizes)


def network(w: Tensors, images: jax.Array, normalise: Norm, sizes: Sizes | None = None) -> jax.Array:
    """Compute `logits` with one or the other BatchNorm."""
    sizes = sizes or sizes_of(w)
    x = conv(w, "conv1", images, stride=sizes.stride, padding=sizes.kernel // 2)
    x = jax.nn.relu(normalise(w, "bn1", x))
    if sizes.pooled:
        x = max_pool(x)
    for block, stride in sizes.all_blocks():
        x = bottleneck(w, block, x, stride, normalise)
    return x.mean(axis=(1, 2)) @ w["fc.weight"] + w["fc.bias"]


def bottleneck(w: Tensors, name: str, x: jax.Array, stride: int, normalise: Norm) -> jax.Array:
    """Apply 1×1, 3×3 (which has the stride: v1.5) and 1×1 convolutions around a shortcut."""
    shortcut = x
    if f"{name}.downsample.0.weight" in w:
        shortcut = normalise(w, f"{name}.downsample.1", conv(w, f"{name}.downsample.0", x, stride=stride))
    x = jax.nn.relu(normalise(w, f"{name}.bn1", conv(w, f"{name}.conv1", x)))
    x = jax.nn.relu(normalise(w, f"{name}.bn2", conv(w, f"{name}.conv2", x, stride=stride, padding=1)))
    x = normalise(w, f"{name}.bn3", conv(w, f"{name}.conv3", x))
    return jax.nn.relu(x + shortcut)


def conv(w: Tensors, name: str, x: jax.Array, stride: int = 1, padding: int = 0) -> jax.Array:
    """Convolve with explicit padding ("SAME" would pad a stride of 2 differently)."""
    return jax.lax.conv_general_dilated(
        x,
        w[f"{name}.weight"],
        window_strides=(stride, stride),
        padding=((padding, padding), (padding, padding)),
        dimension_numbers=("NHWC", "HWIO", "NHWC"),
    )


def norm(w: Tensors, name: str, x: jax.Array, epsilon: float = EPSILON) -> jax.Array:
    """Apply BatchNorm with its stored statistics, in float32, whatever the precision, as Flax has it."""
    scale = w[f"{name}.weight"] * jax.lax.rsqrt(w[f"{name}.running_var"].astype(jnp.float32) + epsilon)
    return ((x - w[f"{name}.running_mean"].astype(jnp.float32)) * scale + w[f"{name}.bias"]).astype(x.dtype)


def max_pool(x: jax.Array) -> jax.Array:
    """Take the largest of each 3×3 window, stride 2, padding 1."""
    lowest = np.asarray(-np.inf, dtype=x.dtype)
    return jax.lax.reduce_window(x, lowest, jax.lax.max, (1, 3, 3, 1), (1, 2, 2, 1), ((0, 0), (1, 1), (1, 1), (0, 0)))


def loss(w: Tensors, statistics: Tensors, images: jax.Array, labels: jax.Array) -> tuple[jax.Array, Tensors]:
    """Compute cross-entropy over the classes, mean over the batch, and the running statistics after it.

    `labels`: classes, int32, shape (batch,).
    """
    new: Tensors = {}

    def normalise(w: Tensors, name: str, x: jax.Array) -> jax.Array:
        return batch_norm(w, statistics, new, name, x)

    logits = network(w, images, normalise).astype(jnp.float32)  # a loss is in float32, whatever the precision
    log_shares = jax.nn.log_softmax(logits)
    chosen = jnp.take_along_axis(log_shares, labels[:, None], axis=1)
    return -chosen.mean(), new


def batch_norm(w: Tensors, statistics: Tensors, new: Tensors, name: str, x: jax.Array) -> jax.Array:
    """Apply BatchNorm with the statistics of the batch, and follow them, in float32, whatever the precision.

    The variance is that of the differences from the mean: E[x²] − E[x]², which flax takes by default, is one pass less
    and loses digits. The running variance follows the unbiased one, as torch's does; flax's follows the biased one.
    """
    wide = x.astype(jnp.float32)
    mean = wide.mean(axis=(0, 1, 2))
    centred = wide - mean
    variance = (centred * centred).mean(axis=(0, 1, 2))
    count = x.size // x.shape[-1]
    for part, batch in (("running_mean", mean), ("running_var", variance * (count / (count - 1)))):
        old = statistics[f"{name}.{part}"]
        new[f"{name}.{part}"] = (1 - BATCH_NORM.update) * old + BATCH_NORM.update * batch
    scale = w[f"{name}.weight"] * jax.lax.rsqrt(variance + BATCH_NORM.epsilon)
    return (centred * scale + w[f"{name}.bias"]).astype(x.dtype)
