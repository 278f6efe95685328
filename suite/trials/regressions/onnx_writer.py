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
Attribute = int | float | str | Sequence[int] | Sequence[float] | Sequence[str]
IR_VERSION = 8
"""Of the file format: every ONNX Runtime since 1.11 reads it."""
MAIN, CONTRIB, ML = "", "com.microsoft", "ai.onnx.ml"
"""Domains of operators."""
_ELEMENTS = {"float32": 1, "int64": 7, "float64": 11}


def tensor(name: str, values: Array) -> bytes:
    """Write a constant.

    Parameters
    ----------
    name : str
        What nodes call it.
    values : ndarray
        Of float32, float64 or int64.
    """
    sides = b"".join(number(1, size) for size in values.shape)
    content = np.ascontiguousarray(values).astype(values.dtype.newbyteorder("<")).tobytes()
    return sides + number(2, _ELEMENTS[values.dtype.name]) + text(8, name.encode()) + text(9, content)


def value(name: str, dtype: str, shape: Sequence[int]) -> bytes:
    """Describe an input or an output.

    Parameters
    ----------
    name : str
        Its name.
    dtype : str
        `float32`, `float64` or `int64`.
    shape : sequence of int
        All sizes, fixed.
    """
    sides = b"".join(text(1, number(1, size)) for size in shape)
    kind = number(1, _ELEMENTS[dtype]) + text(2, sides)
    return text(1, name.encode()) + text(2, text(1, kind))


def node(
    operator: str,
    inputs: Sequence[str],
    outputs: Sequence[str],
    attributes: Mapping[str, Attribute] | None = None,
    domain: str = MAIN,
) -> bytes:
    """Write one operator.

    Parameters
    ----------
    operator : str
        Its type.
    inputs, outputs : sequence of str
        Names of values; an empty name leaves an optional one out.
    attributes : mapping of str to number, text or sequence
        A float stays a float: write `1.0`.
    domain : str
        Where the operator is defined.
    """
    names = b"".join(text(1, name.encode()) for name in inputs) + b"".join(text(2, name.encode()) for name in outputs)
    written = b"".join(text(5, _attribute(name, each)) for name, each in (attributes or {}).items())
    return names + text(4, operator.encode()) + written + (text(7, domain.encode()) if domain else b"")


def model(
    nodes: Sequence[bytes],
    constants: Sequence[bytes],
    inputs: Sequence[bytes],
    outputs: Sequence[bytes],
    opsets: Mapping[str, int],
) -> bytes:
    """Put a model together.

    Parameters
    ----------
    nodes, constants, inputs, outputs : sequence of bytes
        What `node`, `tensor` and `value` wrote; nodes in the order of their calculation.
    opsets : mapping of str to int
        Version of the operators of each domain.
    """
    graph = b"".join(text(1, each) for each in nodes) + text(2, b"graph")
    graph += b"".join(text(5, each) for each in constants)
    graph += b"".join(text(11, each) for each in inputs) + b"".join(text(12, each) for each in outputs)
    domains = b"".join(text(8, text(1, name.encode()) + number(2, version)) for name, version in opsets.items())
    return number(1, IR_VERSION) + text(7, graph) + domains


def _attribute(name: str, given: Attribute) -> bytes:
    return text(1, name.encode()) + _content(given)


def _content(given: Attribute) -> bytes:
    """Write an attribute's value and its type."""
    if isinstance(given, str):
        return text(4, given.encode()) + number(20, 3)
    if isinstance(given, int):
        return number(3, given) + number(20, 2)
    if isinstance(given, float):
        return _float(2, given) + number(20, 1)
    if isinstance(given[0], str):
        return b"".join(text(9, str(each).encode()) for each in given) + number(20, 8)
    if isinstance(given[0], float):
        return b"".join(_float(7, float(each)) for each in given) + number(20, 6)
    return b"".join(number(8, int(each)) for each in given) + number(20, 7)


def _float(field: int, given: float) -> bytes:
    return varint(field << 3 | FIXED32) + struct.pack("<f", given)
