"""The ResNets' loss and gradients in NumPy float64, by hand: BatchNorm normalises by its batch, as training does.

Every layer computes forward and returns with its output the way back: a function from the slope of the loss by its
output to that by its input, which leaves the gradients of its own weights in the tape.
"""

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
from numpy.lib.stride_tricks import sliding_window_view

from levelfield.zoo.resnet50 import Sizes, sizes_of
from levelfield.zoo.training.optimizers import cross_entropy
from levelfield.zoo.training.recipe import BATCH_NORM

Tensors: TypeAlias = Mapping[str, npt.NDArray[Any]]
Array: TypeAlias = npt.NDArray[np.float64]
Back: TypeAlias = Callable[[Array], Array]


class Tape:
    """Weights on the way forward; gradients and new statistics as they come."""

    def __init__(self, weights: Tensors) -> None:
        self.w = weights
        self.gradients: dict[str, Array] = {}
        self.statistics: dict[str, Array] = {}


def loss_and_gradients(w: Tensors, batch: Tensors) -> tuple[float, dict[str, Array], dict[str, Array]]:
    """Compute the loss, its gradients by every trained weight, and the running statistics after this batch.

    `batch`: `images`, shape (batch, channels, height, width), and `labels`, shape (batch,).
    """
    tape, sizes = Tape(w), sizes_of(w)
    back: list[Back] = []
    x = batch["images"].astype(np.float64).transpose(0, 2, 3, 1)
    for layer in (_stem(tape, sizes), *_bottlenecks(tape, sizes), _head(tape)):
        x, way = layer(x)
        back.append(way)
    loss, d = cross_entropy(x, batch["labels"])
    while back:
        d = back.pop()(d)  # what a layer kept is freed as soon as it was used
    return loss, tape.gradients, tape.statistics


Layer: TypeAlias = Callable[[Array], tuple[Array, Back]]


def _stem(tape: Tape, sizes: Sizes) -> Layer:
    def stem(x: Array) -> tuple[Array, Back]:
        x, back_conv = conv(tape, "conv1", x, sizes.stride, sizes.kernel // 2)
        x, back_norm = norm(tape, "bn1", x)
        x, back_relu = relu(x)
        x, back_pool = max_pool(x) if sizes.pooled else (x, _same)
        return x, lambda d: back_conv(back_norm(back_relu(back_pool(d))))

    return stem


def _bottlenecks(tape: Tape, sizes: Sizes) -> list[Layer]:
    def of(name: str, stride: int) -> Layer:
        return lambda x: bottleneck(tape, name, x, stride)

    return [of(name, stride) for name, stride in sizes.all_blocks()]


def _head(tape: Tape) -> Layer:
    """Take the mean over height and width, and apply the classifier."""

    def mean_and_dense(x: Array) -> tuple[Array, Back]:
        shape = x.shape
        pooled: Array = x.mean(axis=(1, 2))
        weight = tape.w["fc.weight"].astype(np.float64, copy=False)

        def back(d: Array) -> Array:
            tape.gradients["fc.weight"] = d.T @ pooled
            tape.gradients["fc.bias"] = d.sum(axis=0)
            each = (d @ weight) / (shape[1] * shape[2])
            return np.broadcast_to(each[:, None, None, :], shape)

        return pooled @ weight.T + tape.w["fc.bias"], back

    return mean_and_dense


def bottleneck(tape: Tape, name: str, x: Array, stride: int) -> tuple[Array, Back]:
    """Apply 1×1, 3×3 (which has the stride: v1.5) and 1×1 convolutions around a shortcut."""
    shortcut = x
    back_shortcut: Back = _same
    if f"{name}.downsample.0.weight" in tape.w:
        shortcut, back_shortcut = _conv_norm(tape, f"{name}.downsample.0", f"{name}.downsample.1", x, stride, 0)
    x, back_1 = _conv_norm(tape, f"{name}.conv1", f"{name}.bn1", x, 1, 0)
    x, back_relu_1 = relu(x)
    x, back_2 = _conv_norm(tape, f"{name}.conv2", f"{name}.bn2", x, stride, 1)
    x, back_relu_2 = relu(x)
    x, back_3 = _conv_norm(tape, f"{name}.conv3", f"{name}.bn3", x, 1, 0)
    x, back_relu_3 = relu(x + shortcut)

    def back(d: Array) -> Array:
        d = back_relu_3(d)
        return back_1(back_relu_1(back_2(back_relu_2(back_3(d))))) + back_shortcut(d)

    return x, back


def _conv_norm(tape: Tape, conv_name: str, norm_name: str, x: Array, stride: int, padding: int) -> tuple[Array, Back]:
    x, back_conv = conv(tape, conv_name, x, stride, padding)
    x, back_norm = norm(tape, norm_name, x)
    return x, lambda d: back_conv(back_norm(d))


def conv(tape: Tape, name: str, x: Array, stride: int = 1, padding: int = 0) -> tuple[Array, Back]:
    """Convolve: what each place of the kernel sees, side by side, times one matrix of all kernels."""
    # (out, height, width, in): a row of it is what one place after the other is multiplied by.
    kernel = tape.w[f"{name}.weight"].transpose(0, 2, 3, 1).astype(np.float64, order="C")
    flat = kernel.reshape(len(kernel), -1)
    padded = np.pad(x, ((0, 0), (padding, padding), (padding, padding), (0, 0))) if padding else x
    n, height, width = len(x), *((side - kernel.shape[1]) // stride + 1 for side in padded.shape[1:3])
    places = [
        np.s_[:, row : row + stride * height : stride, column : column + stride * width : stride]
        for row, column in np.ndindex(*kernel.shape[1:3])
    ]

    def columns() -> Array:
        return np.concatenate([padded[place].reshape(n * height * width, -1) for place in places], axis=1)

    def back(d: Array) -> Array:
        d = d.reshape(-1, d.shape[3])
        tape.gradients[f"{name}.weight"] = (d.T @ columns()).reshape(kernel.shape).transpose(0, 3, 1, 2)
        if name == "conv1":
            return x  # it is the first layer: the slope is not used
        slope = np.zeros(padded.shape)
        for place, part in zip(places, np.split(flat, len(places), axis=1), strict=True):
            slope[place] += (d @ part).reshape(n, height, width, -1)
        return slope[:, padding : padding + x.shape[1], padding : padding + x.shape[2]]

    return (columns() @ flat.T).reshape(n, height, width, -1), back


def norm(tape: Tape, name: str, x: Array) -> tuple[Array, Back]:
    """Apply BatchNorm with the statistics of the batch, and follow them with the running ones."""
    count = x.size // x.shape[-1]
    gamma = tape.w[f"{name}.weight"].astype(np.float64, copy=False)
    mean: Array = x.mean(axis=(0, 1, 2))
    variance: Array = x.var(axis=(0, 1, 2))  # biased
    scale = 1 / np.sqrt(variance + BATCH_NORM.epsilon)
    normal: Array = (x - mean) * scale
    for part, new in (("running_mean", mean), ("running_var", variance * count / (count - 1))):
        old = tape.w[f"{name}.{part}"].astype(np.float64)
        tape.statistics[f"{name}.{part}"] = (1 - BATCH_NORM.update) * old + BATCH_NORM.update * new

    def back(d: Array) -> Array:
        by_beta: Array = d.sum(axis=(0, 1, 2))
        by_gamma: Array = (d * normal).sum(axis=(0, 1, 2))
        tape.gradients[f"{name}.weight"], tape.gradients[f"{name}.bias"] = by_gamma, by_beta
        slope: Array = (d - by_beta / count - normal * (by_gamma / count)) * (gamma * scale)
        return slope

    return normal * gamma + tape.w[f"{name}.bias"], back


def relu(x: Array) -> tuple[Array, Back]:
    """Return max(x, 0); its slope at zero is zero."""
    out = np.maximum(x, 0)
    return out, lambda d: d * (out > 0)


def max_pool(x: Array) -> tuple[Array, Back]:
    """Take the largest of each 3×3 window, stride 2, padding 1; the slope goes to the first of equals.

    Equals are zeros of the ReLU before, where no slope passes: which of them is first does not matter.
    """
    around = ((0, 0), (1, 1), (1, 1), (0, 0))
    padded = np.pad(x, around, constant_values=-np.inf)
    windows = sliding_window_view(padded, (3, 3), axis=(1, 2))[:, ::2, ::2]
    n, height, width, channels = windows.shape[:4]
    flat = windows.reshape(n, height, width, channels, 9)
    place = flat.argmax(axis=4)
    out: Array = np.take_along_axis(flat, place[..., None], axis=4)[..., 0]

    def back(d: Array) -> Array:
        slope = np.zeros(padded.shape)
        for index in range(9):
            row, column = divmod(index, 3)
            slope[:, row : row + 2 * height : 2, column : column + 2 * width : 2] += d * (place == index)
        return slope[:, 1:-1, 1:-1]

    return out, back


def _same(d: Array) -> Array:
    return d
