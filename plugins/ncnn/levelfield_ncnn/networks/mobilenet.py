"""MobileNetV2 in ncnn. Tensors are (channels, height, width)."""

from levelfield.zoo.mobilenet import BASE, Conv, Sizes, blocks, first, last
from levelfield.zoo.spec import Model
from levelfield.zoo.weights import Arrays
from levelfield_ncnn.graph import Graph, Values
from levelfield_ncnn.networks.layers import CLIP, add, conv, dense, mean_of_pixels

RELU6: Values = {9: CLIP, 10: (0.0, 6.0)}


def write(graph: Graph, model: Model, w: Arrays) -> str:
    """Write the network from `images` to `logits`."""
    sizes = model.sizes if isinstance(model.sizes, Sizes) else BASE
    x = _conv(graph, w, first(sizes), graph.input("images"), RELU6)
    for block in blocks(sizes):
        given = x
        if block.expand is not None:
            x = _conv(graph, w, block.expand, x, RELU6)
        x = _conv(graph, w, block.depthwise, x, RELU6)
        x = _conv(graph, w, block.project, x, {})
        x = add(graph, given, x) if block.residual else x
    return dense(graph, w, "classifier.1", mean_of_pixels(graph, _conv(graph, w, last(sizes), x, RELU6)))


def _conv(graph: Graph, w: Arrays, of: Conv, x: str, activation: Values) -> str:
    return conv(
        graph, w, of.name, of.norm, x, stride=of.stride, padding=of.padding, epsilon=of.epsilon, activation=activation
    )
