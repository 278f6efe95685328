"""ResNet-50 v1.5 in JAX. Tensors are (batch, height, width, channels)."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from suite.zoo.resnet50.spec import EPSILON, STAGES, blocks
from suite.zoo.weights import Arrays


def prepare(weights: Arrays) -> dict[str, Any]:
    """Return the weights as the network wants them: kernels as (height, width, in, out), matrices as (in, out)."""
    order = {4: (2, 3, 1, 0), 2: (1, 0), 1: (0,)}
    return {name: np.ascontiguousarray(array.transpose(order[array.ndim])) for name, array in weights.items()}


def forward(w: dict[str, jax.Array], images: jax.Array) -> jax.Array:
    """Compute `logits`, shape (batch, 1000), from `images`, shape (batch, 224, 224, 3)."""
    x = jax.nn.relu(norm(w, "bn1", conv(w, "conv1", images, stride=2, padding=3)))
    x = max_pool(x)
    for number in range(len(STAGES)):
        for index, block in enumerate(blocks(number)):
            x = bottleneck(w, block, x, stride=2 if number > 0 and index == 0 else 1)
    return x.mean(axis=(1, 2)) @ w["fc.weight"] + w["fc.bias"]


def bottleneck(w: dict[str, jax.Array], name: str, x: jax.Array, stride: int) -> jax.Array:
    """Apply 1×1, 3×3 (which has the stride: v1.5) and 1×1 convolutions around a shortcut."""
    shortcut = x
    if f"{name}.downsample.0.weight" in w:
        shortcut = norm(w, f"{name}.downsample.1", conv(w, f"{name}.downsample.0", x, stride=stride))
    x = jax.nn.relu(norm(w, f"{name}.bn1", conv(w, f"{name}.conv1", x)))
    x = jax.nn.relu(norm(w, f"{name}.bn2", conv(w, f"{name}.conv2", x, stride=stride, padding=1)))
    x = norm(w, f"{name}.bn3", conv(w, f"{name}.conv3", x))
    return jax.nn.relu(x + shortcut)


def conv(w: dict[str, jax.Array], name: str, x: jax.Array, stride: int = 1, padding: int = 0) -> jax.Array:
    """Convolve with explicit padding ("SAME" would pad a stride of 2 differently)."""
    return jax.lax.conv_general_dilated(
        x,
        w[f"{name}.weight"],
        window_strides=(stride, stride),
        padding=((padding, padding), (padding, padding)),
        dimension_numbers=("NHWC", "HWIO", "NHWC"),
    )


def norm(w: dict[str, jax.Array], name: str, x: jax.Array) -> jax.Array:
    """Apply BatchNorm with its stored statistics, in float32, whatever the precision, as Flax has it."""
    scale = w[f"{name}.weight"] * jax.lax.rsqrt(w[f"{name}.running_var"].astype(jnp.float32) + EPSILON)
    return ((x - w[f"{name}.running_mean"].astype(jnp.float32)) * scale + w[f"{name}.bias"]).astype(x.dtype)


def max_pool(x: jax.Array) -> jax.Array:
    """Take the largest of each 3×3 window, stride 2, padding 1."""
    lowest = np.asarray(-np.inf, dtype=x.dtype)
    return jax.lax.reduce_window(x, lowest, jax.lax.max, (1, 3, 3, 1), (1, 2, 2, 1), ((0, 0), (1, 1), (1, 1), (0, 0)))
