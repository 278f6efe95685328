"""The ResNets in ncnn. Tensors are (channels, height, width)."""

from levelfield.zoo.resnet50 import EPSILON, Sizes, sizes_of
from levelfield.zoo.spec import Model
from levelfield.zoo.weights import Arrays
from levelfield_ncnn.graph import Graph
from levelfield_ncnn.networks.layers import RELU, add, conv, dense, mean_of_pixels


def write(graph: Graph, model: Model, w: Arrays) -> str:
    """Write the network from `images` to `logits`."""
    sizes = model.sizes if isinstance(model.sizes, Sizes) else sizes_of(w)
    x = _conv(graph, w, "conv1", "bn1", graph.input("images"), kernel=sizes.kernel, stride=sizes.stride)
    if sizes.pooled:  # 5: height and width are rounded down
        x = graph.add("Pooling", x, values={0: 0, 1: 3, 2: 2, 3: 1, 5: 1})
    for number, _ in enumerate(sizes.stages):
        for block, stride in sizes.blocks(number):
            x = bottleneck(graph, w, block, x, stride)
    return dense(graph, w, "fc", mean_of_pixels(graph, x))


def bottleneck(graph: Graph, w: Arrays, name: str, x: str, stride: int) -> str:
    """Apply 1×1, 3×3 (which has the stride: v1.5) and 1×1 convolutions around a shortcut."""
    shortcut = x
    if f"{name}.downsample.0.weight" in w:
        shortcut = _conv(graph, w, f"{name}.downsample.0", f"{name}.downsample.1", x, stride=stride, relu=False)
    x = _conv(graph, w, f"{name}.conv1", f"{name}.bn1", x)
    x = _conv(graph, w, f"{name}.conv2", f"{name}.bn2", x, kernel=3, stride=stride)
    x = _conv(graph, w, f"{name}.conv3", f"{name}.bn3", x, relu=False)
    return graph.add("ReLU", add(graph, x, shortcut))


def _conv(
    graph: Graph, w: Arrays, name: str, norm: str, x: str, *, kernel: int = 1, stride: int = 1, relu: bool = True
) -> str:
    half, activation = kernel // 2, {9: RELU} if relu else {}
    return conv(
        graph, w, name, norm, x, stride=stride, padding=(half, half), epsilon=EPSILON, activation={**activation}
    )
