"""The MLPs in ncnn; rows of the input are the batch."""

import itertools

from levelfield.zoo.mlp import widths
from levelfield.zoo.spec import Model
from levelfield.zoo.weights import Arrays
from levelfield_ncnn.graph import Graph
from levelfield_ncnn.networks.layers import RELU, SIGMOID, dense


def write(graph: Graph, model: Model, w: Arrays) -> str:
    """Write the network from `features`, of a row for each item, to the probability or the logits."""
    x = graph.input(model.inputs[0].name)
    *hidden, last = [fan_out for _, fan_out in itertools.pairwise(widths(model))]
    for layer, _ in enumerate(hidden):
        x = dense(graph, w, f"layers.{layer}", x, RELU)
    return dense(graph, w, f"layers.{len(hidden)}", x, SIGMOID if last == 1 else 0)
