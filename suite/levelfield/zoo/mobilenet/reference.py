"""MobileNetV2 in NumPy float64. Tensors are (batch, height, width, channels)."""

from collections.abc import Mapping
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
from numpy.lib.stride_tricks import sliding_window_view

from levelfield.zoo.mobilenet import BASE, Block, Conv, Sizes, blocks, first, last
from levelfield.zoo.resnet50.reference import conv, norm

Weights: TypeAlias = Mapping[str, npt.NDArray[Any]]
Array: TypeAlias = npt.NDArray[np.float64]


def forward(w: Weights, inputs: Mapping[str, npt.NDArray[Any]], *, sizes: Sizes = BASE) -> Array:
    """Compute `logits`, shape (batch, 1000), from `images`, float32, shape (batch, 3, 224, 224)."""
    x = relu6(normalised(w, first(sizes), inputs["images"].astype(np.float64).transpose(0, 2, 3, 1)))
    for block in blocks(sizes):
        x = inverted_residual(w, block, x)
    pooled: Array = relu6(normalised(w, last(sizes), x)).mean(axis=(1, 2))
    return pooled @ w["classifier.1.weight"].astype(np.float64).T + w["classifier.1.bias"]


def inverted_residual(w: Weights, block: Block, x: Array) -> Array:
    """Expand, convolve each channel by itself, project, and add the input where the shape stays."""
    shortcut = x
    if block.expand is not None:
        x = relu6(normalised(w, block.expand, x))
    x = relu6(normalised(w, block.depthwise, x))
    x = normalised(w, block.project, x)
    return x + shortcut if block.residual else x


def normalised(w: Weights, one: Conv, x: Array) -> Array:
    """Apply a convolution and the BatchNorm after it."""
    if one.depthwise:
        return norm(w, one.norm, depthwise(w, one, x), one.epsilon)
    return norm(w, one.norm, conv(w, one.name, x, one.stride, one.padding), one.epsilon)


def depthwise(w: Weights, one: Conv, x: Array) -> Array:
    """Convolve each channel with its own 3×3 kernel."""
    padded = np.pad(x, ((0, 0), one.padding, one.padding, (0, 0)))
    windows = sliding_window_view(padded, (3, 3), axis=(1, 2))[:, :: one.stride, :: one.stride]  # (n, h, w, c, 3, 3)
    kernel = w[f"{one.name}.weight"].astype(np.float64)[:, 0]
    product: Array = np.einsum("nhwcij,cij->nhwc", windows, kernel)
    return product


def relu6(x: Array) -> Array:
    """Return min(max(x, 0), 6)."""
    return np.clip(x, 0, 6)
