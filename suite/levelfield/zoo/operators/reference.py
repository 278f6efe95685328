"""Single operators in NumPy float64."""

import math
from collections.abc import Mapping
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from levelfield.zoo.bert.reference import softmax
from levelfield.zoo.operators import EPSILON
from levelfield.zoo.resnet50.reference import conv
from levelfield.zoo.spec import Model, Operator

Tensors: TypeAlias = Mapping[str, npt.NDArray[Any]]
Array: TypeAlias = npt.NDArray[np.float64]


def forward(model: Model, w: Tensors, inputs: Tensors) -> Array:
    """Compute an operator's output."""
    operator = model.operator
    assert operator is not None
    given = [inputs[tensor.name] for tensor in model.inputs]
    if operator.kind == "embedding":
        looked_up: Array = w["embeddings.weight"].astype(np.float64)[given[0]]
        return looked_up
    if operator.kind in {"gather", "scatter"}:
        moved = [_moved(operator, x.astype(np.float64), rows) for x, rows in zip(*given, strict=True)]
        return np.stack(moved)
    return _numbers(operator, w, *(each.astype(np.float64) for each in given))


def _numbers(operator: Operator, w: Tensors, x: Array, *others: Array) -> Array:
    match operator.kind:
        case "gemm":
            return np.asarray(x @ w["weight"].astype(np.float64).T)
        case "conv":
            images = x.transpose(0, 2, 3, 1)
            convolved = conv({"operator.weight": w["weight"]}, "operator", images, operator.stride, operator.padding)
            return convolved.transpose(0, 3, 1, 2)
        case "softmax":
            return softmax(x)
        case "layernorm":
            centred = x - x.mean(axis=-1, keepdims=True)
            variance = (centred * centred).mean(axis=-1, keepdims=True)
            return np.asarray(centred / np.sqrt(variance + EPSILON) * w["weight"] + w["bias"])
        case _:
            return _attention(operator.heads, x, *others)


def _moved(operator: Operator, x: Array, rows: npt.NDArray[Any]) -> Array:
    """Take rows of `x`, shape (rows, width), or add each of its rows to one of zeros."""
    if operator.kind == "gather":
        return np.asarray(x[rows])
    sums = np.zeros((operator.rows, x.shape[-1]))
    np.add.at(sums, rows, x)
    return sums


def _attention(heads: int, *parts: Array) -> Array:
    """Let every token look at all tokens: query, key and value, shape (batch, tokens, width)."""
    batch, tokens, width = parts[0].shape
    query, key, value = (part.reshape(batch, tokens, heads, -1).transpose(0, 2, 1, 3) for part in parts)
    context = softmax(query @ key.transpose(0, 1, 3, 2) / math.sqrt(width // heads)) @ value
    return np.asarray(context.transpose(0, 2, 1, 3).reshape(batch, tokens, width))
