"""BERT in ncnn. Tensors are (sequence, hidden)."""

import math

import numpy as np

from levelfield.zoo.bert import BASE, Sizes
from levelfield.zoo.spec import Model
from levelfield.zoo.weights import Arrays
from levelfield_ncnn.graph import Graph, plain, typed
from levelfield_ncnn.networks.layers import add, dense

_NOTHING = 1e30
"""Taken from the scores of padding: its share is zero after the softmax."""


def write(graph: Graph, model: Model, w: Arrays) -> str:
    """Write the network from the three inputs to `last_hidden_state`."""
    sizes = model.sizes if isinstance(model.sizes, Sizes) else BASE
    words = _lookup(graph, w, "word", graph.input("input_ids"), sizes.vocabulary)
    types = _lookup(graph, w, "token_type", graph.input("token_type_ids"), sizes.types)
    table = w["embeddings.position_embeddings.weight"][: sizes.sequence]
    positions = graph.add("MemoryData", values={0: sizes.hidden, 1: sizes.sequence}, weights=[plain(table)])
    x = _norm(graph, w, "embeddings.LayerNorm", add(graph, add(graph, words, types), positions), sizes)
    mask = _mask(graph, graph.input("attention_mask"), sizes)
    for number in range(sizes.layers):
        x = layer(graph, w, f"encoder.layer.{number}", x, mask, sizes)
    return x


def _lookup(graph: Graph, w: Arrays, table: str, ids: str, rows: int) -> str:
    weight = w[f"embeddings.{table}_embeddings.weight"]
    values = {0: weight.shape[1], 1: rows, 2: 0, 3: weight.size}
    return graph.add("Embed", ids, values={**values}, weights=[typed(weight)])


def _mask(graph: Graph, mask: str, sizes: Sizes) -> str:
    """Return what is added to the scores, (from, to): nothing for tokens, and very little for padding."""
    length = sizes.sequence
    row = graph.add("BinaryOp", mask, values={0: 1, 1: 1, 2: 1.0})  # less one
    row = graph.add("BinaryOp", row, values={0: 2, 1: 1, 2: _NOTHING})
    row = graph.add("Reshape", row, values={0: length, 1: 1})
    nothing = np.zeros((length, length), np.float32)
    square = graph.add("MemoryData", values={0: length, 1: length}, weights=[plain(nothing)])
    return add(graph, square, row)


def layer(graph: Graph, w: Arrays, name: str, x: str, mask: str, sizes: Sizes) -> str:
    """Apply attention and the two-layer network, each added to its input and normalised after (post-norm)."""
    parts = [f"{name}.attention.self.{part}" for part in ("query", "key", "value")]
    parts.append(f"{name}.attention.output.dense")
    weights = [each for part in parts for each in (typed(w[f"{part}.weight"]), plain(w[f"{part}.bias"]))]
    values = {0: sizes.hidden, 1: sizes.heads, 2: sizes.hidden**2, 3: sizes.hidden, 4: sizes.hidden, 5: 1}
    # A single input would be query, key and value; with a mask they are named one by one.
    attended = graph.add(
        "MultiHeadAttention", x, x, x, mask, values={**values, 6: 1 / math.sqrt(sizes.head)}, weights=weights
    )
    x = _norm(graph, w, f"{name}.attention.output.LayerNorm", add(graph, attended, x), sizes)
    inner = graph.add("GELU", dense(graph, w, f"{name}.intermediate.dense", x))  # by erf
    return _norm(
        graph, w, f"{name}.output.LayerNorm", add(graph, dense(graph, w, f"{name}.output.dense", inner), x), sizes
    )


def _norm(graph: Graph, w: Arrays, name: str, x: str, sizes: Sizes) -> str:
    scale, shift = plain(w[f"{name}.weight"]), plain(w[f"{name}.bias"])
    return graph.add("LayerNorm", x, values={0: sizes.hidden, 1: sizes.epsilon, 2: 1}, weights=[scale, shift])
