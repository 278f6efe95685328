"""ResNet-50 v1.5 in NumPy float64. Tensors are (batch, height, width, channels)."""

from collections.abc import Mapping
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
from numpy.lib.stride_tricks import sliding_window_view

from levelfield.zoo.resnet50 import EPSILON, RESNET50, Sizes

Weights: TypeAlias = Mapping[str, npt.NDArray[Any]]
Array: TypeAlias = npt.NDArray[np.float64]


def forward(w: Weights, inputs: Mapping[str, npt.NDArray[Any]], *, sizes: Sizes = RESNET50) -> Array:
    """Compute `logits`, shape (batch, 1000), from `images`, float32, shape (batch, 3, 224, 224)."""
    x = stem(w, inputs["images"].astype(np.float64).transpose(0, 2, 3, 1))
    for number in range(len(sizes.stages)):
        x = stage(w, number, x, sizes=sizes)
    return head(w, x)


def stem(w: Weights, x: Array) -> Array:
    """Apply the 7×7 convolution and the max pool: 224 → 112 → 56. `x`: images, shape (batch, 224, 224, 3)."""
    x = relu(norm(w, "bn1", conv(w, "conv1", x, stride=2, padding=3)))
    return max_pool(x)


def stage(w: Weights, number: int, x: Array, *, sizes: Sizes = RESNET50) -> Array:
    """Apply `layer1` … `layer4` (numbers 0 … 3); each but the first halves height and width."""
    for block, stride in sizes.blocks(number):
        x = bottleneck(w, block, x, stride)
    return x


def bottleneck(w: Weights, name: str, x: Array, stride: int) -> Array:
    """Apply 1×1, 3×3 (which has the stride: v1.5) and 1×1 convolutions around a shortcut."""
    shortcut = x
    if f"{name}.downsample.0.weight" in w:
        shortcut = norm(w, f"{name}.downsample.1", conv(w, f"{name}.downsample.0", x, stride=stride))
    x = relu(norm(w, f"{name}.bn1", conv(w, f"{name}.conv1", x)))
    x = relu(norm(w, f"{name}.bn2", conv(w, f"{name}.conv2", x, stride=stride, padding=1)))
    x = norm(w, f"{name}.bn3", conv(w, f"{name}.conv3", x))
    return relu(x + shortcut)


def head(w: Weights, x: Array) -> Array:
    """Average over all positions, then classify."""
    pooled: Array = x.mean(axis=(1, 2))
    return pooled @ w["fc.weight"].astype(np.float64).T + w["fc.bias"]


def conv(w: Weights, name: str, x: Array, stride: int = 1, padding: int | tuple[int, int] = 0) -> Array:
    """Convolve: every window of the input times one matrix of all kernels."""
    kernel = w[f"{name}.weight"].astype(np.float64, copy=False)  # (out, in, height, width)
    out, _, size, _ = kernel.shape
    if padding:
        around = (padding, padding) if isinstance(padding, int) else padding
        x = np.pad(x, ((0, 0), around, around, (0, 0)))
    windows = sliding_window_view(x, (size, size), axis=(1, 2))[:, ::stride, ::stride]  # (n, h, w, in, size, size)
    n, height, width = windows.shape[:3]
    product: Array = windows.reshape(n * height * width, -1) @ kernel.reshape(out, -1).T
    return product.reshape(n, height, width, out)


def norm(w: Weights, name: str, x: Array, epsilon: float = EPSILON) -> Array:
    """Apply BatchNorm with its stored statistics."""
    scale = w[f"{name}.weight"] / np.sqrt(w[f"{name}.running_var"].astype(np.float64) + epsilon)
    return (x - w[f"{name}.running_mean"]) * scale + w[f"{name}.bias"]


def relu(x: Array) -> Array:
    """Return max(x, 0)."""
    return np.maximum(x, 0)


def max_pool(x: Array) -> Array:
    """Take the largest of each 3×3 window, stride 2, padding 1 (with −∞, though after ReLU zero would do)."""
    x = np.pad(x, ((0, 0), (1, 1), (1, 1), (0, 0)), constant_values=-np.inf)
    largest: Array = sliding_window_view(x, (3, 3), axis=(1, 2))[:, ::2, ::2].max(axis=(4, 5))
    return largest
