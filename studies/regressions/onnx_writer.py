"""ONNX files written byte by byte, since the environment of trials has no `onnx`.

The same arguments give the same bytes on every machine, so a file's SHA-256 says what was measured.

References
----------
https://github.com/onnx/onnx/blob/main/onnx/onnx.proto
"""

import struct
from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from suite.backends.protobuf import FIXED32, number, text, varint

Array = npt.NDArray[np.generic]
Attribute = int | float | str | list[int] | list[float] | list[str]
IR_VERSION = 8
"""Of the file format: every ONNX Runtime since 1.11 reads it."""
MAIN, CONTRIB, ML = "", "com.microsoft", "ai.onnx.ml"
"""Domains of operators."""
_ELEMENTS = {"float32": 1, "int64": 7, "float64": 11}
_ATTRIBUTES: Mapping[type, tuple[tuple[int, int], tuple[int, int]]] = {
    float: ((2, 1), (7, 6)),
    int: ((3, 2), (8, 7)),
    str: ((4, 3), (9, 8)),
}
"""Field and type of an attribute of one value, and of a list of values (`AttributeProto`)."""


def node(
    operator: str,
    inputs: Sequence[str],
    outputs: Sequence[str],
    attributes: Mapping[str, Attribute] | None = None,
    domain: str = MAIN,
) -> bytes:
    """Write one operator."""
    names = b"".join(text(1, name.encode()) for name in inputs) + b"".join(text(2, name.encode()) for name in outputs)
    written = b"".join(text(5, _attribute(name, each)) for name, each in (attributes or {}).items())
    return names + text(4, operator.encode()) + written + (text(7, domain.encode()) if domain else b"")


def model(
    nodes: Sequence[bytes],
    constants: Mapping[str, Array],
    inputs: Mapping[str, Array],
    output: tuple[str, Sequence[int]],
    opsets: Mapping[str, int],
) -> bytes:
    """Write a model with one output, whose type is the first input's."""
    graph = b"".join(text(1, each) for each in nodes) + text(2, b"graph")
    graph += b"".join(text(5, _tensor(name, values)) for name, values in constants.items())
    graph += b"".join(text(11, _value(name, each.dtype.name, each.shape)) for name, each in inputs.items())
    graph += text(12, _value(output[0], next(iter(inputs.values())).dtype.name, output[1]))
    domains = b"".join(text(8, text(1, name.encode()) + number(2, version)) for name, version in opsets.items())
    return number(1, IR_VERSION) + text(7, graph) + domains


def _tensor(name: str, values: Array) -> bytes:
    sides = b"".join(number(1, size) for size in values.shape)
    content = np.ascontiguousarray(values).astype(values.dtype.newbyteorder("<")).tobytes()
    return sides + number(2, _ELEMENTS[values.dtype.name]) + text(8, name.encode()) + text(9, content)


def _value(name: str, dtype: str, shape: Sequence[int]) -> bytes:
    sides = b"".join(text(1, number(1, size)) for size in shape)
    kind = number(1, _ELEMENTS[dtype]) + text(2, sides)
    return text(1, name.encode()) + text(2, text(1, kind))


def _attribute(name: str, given: Attribute) -> bytes:
    """Write an attribute: its name, its value or values, and its type."""
    values = given if isinstance(given, list) else [given]
    field, kind = _ATTRIBUTES[type(values[0])][isinstance(given, list)]
    return text(1, name.encode()) + b"".join(_scalar(field, each) for each in values) + number(20, kind)


def _scalar(field: int, value: float | str) -> bytes:
    if isinstance(value, str):
        return text(field, value.encode())
    if isinstance(value, int):
        return number(field, value)
    return varint(field << 3 | FIXED32) + struct.pack("<f", value)
