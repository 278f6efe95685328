"""Layers that several networks share."""

import numpy as np

from levelfield.zoo.weights import Arrays
from levelfield_ncnn.graph import Graph, Values, plain, typed

RELU, CLIP, SIGMOID = 1, 3, 4
"""Numbers of ncnn's activations."""
ADD = 0
"""Number of the addition among operators of two inputs."""


def dense(graph: Graph, w: Arrays, name: str, x: str, activation: int = 0) -> str:
    """Apply a dense layer to the last axis."""
    weight, bias = w[f"{name}.weight"], w[f"{name}.bias"]
    values: Values = {0: weight.shape[0], 1: 1, 2: weight.size, 9: activation}
    return graph.add("InnerProduct", x, values=values, weights=[typed(weight), plain(bias)])


def conv(
    graph: Graph,
    w: Arrays,
    name: str,
    norm: str,
    x: str,
    *,
    stride: int = 1,
    padding: tuple[int, int] = (0, 0),
    epsilon: float,
    activation: Values | None = None,
) -> str:
    """Convolve, with the BatchNorm after it folded into the kernel, as ncnn's own converters do."""
    kernel = w[f"{name}.weight"]
    scale = w[f"{norm}.weight"] / np.sqrt(w[f"{norm}.running_var"].astype(np.float64) + epsilon)
    folded = (kernel * scale[:, None, None, None]).astype(np.float32)
    bias = (w[f"{norm}.bias"] - w[f"{norm}.running_mean"] * scale).astype(np.float32)
    before, behind = padding
    values: Values = {0: kernel.shape[0], 1: kernel.shape[3], 11: kernel.shape[2], 3: stride, 5: 1, 6: kernel.size}
    values |= {4: before, 14: before, 15: behind, 16: behind} | (activation or {})
    depthwise = kernel.shape[1] == 1 and kernel.shape[0] > 1
    kind = "ConvolutionDepthWise" if depthwise else "Convolution"
    if depthwise:
        values |= {7: kernel.shape[0]}
    return graph.add(kind, x, values=values, weights=[typed(folded), plain(bias)])


def add(graph: Graph, one: str, other: str) -> str:
    """Add two tensors."""
    return graph.add("BinaryOp", one, other, values={0: ADD})


def mean_of_pixels(graph: Graph, x: str) -> str:
    """Take the mean over height and width."""
    return graph.add("Pooling", x, values={0: 1, 4: 1})
