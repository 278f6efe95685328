"""MobileNetV2 in JAX. Tensors are (batch, height, width, channels)."""

import jax

from levelfield.zoo.mobilenet import BASE, Block, Conv, Sizes, blocks, first, last
from levelfield.zoo.resnet50.jax import norm

Tensors = dict[str, jax.Array]


def forward(w: Tensors, images: jax.Array, *, sizes: Sizes = BASE) -> jax.Array:
    """Compute `logits`, shape (batch, 1000), from `images`, float32, shape (batch, 224, 224, 3)."""
    x = jax.nn.relu6(normalised(w, first(sizes), images))
    for block in blocks(sizes):
        x = inverted_residual(w, block, x)
    pooled = jax.nn.relu6(normalised(w, last(sizes), x)).mean(axis=(1, 2))
    return pooled @ w["classifier.1.weight"] + w["classifier.1.bias"]


def inverted_residual(w: Tensors, block: Block, x: jax.Array) -> jax.Array:
    """Expand, convolve each channel by itself, project, and add the input where the shape stays."""
    shortcut = x
    if block.expand is not None:
        x = jax.nn.relu6(normalised(w, block.expand, x))
    x = jax.nn.relu6(normalised(w, block.depthwise, x))
    x = normalised(w, block.project, x)
    return x + shortcut if block.residual else x


def normalised(w: Tensors, one: Conv, x: jax.Array) -> jax.Array:
    """Apply a convolution, with explicit padding, and the BatchNorm after it."""
    product = jax.lax.conv_general_dilated(
        x,
        w[f"{one.name}.weight"],
        window_strides=(one.stride, one.stride),
        padding=(one.padding, one.padding),
        dimension_numbers=("NHWC", "HWIO", "NHWC"),
        feature_group_count=one.fan[0] if one.depthwise else 1,
    )
    return norm(w, one.norm, product, one.epsilon)
