"""ONNX files written byte by byte, since the tool's own environment has no `onnx`: the few fields that are needed."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from levelfield.backends.protobuf import number, text
from levelfield.errors import LevelfieldError
from levelfield.prepare.own_model import store
from levelfield.record.schema import OwnFile

FLOAT, INT64, BOOL, STRING, FLOAT16, BFLOAT16 = 1, 7, 9, 8, 10, 16
_TYPES = {"float32": FLOAT, "int64": INT64, "float16": FLOAT16, "uint8": 2, "bool": 9}
Shape = Sequence[int | str | None]


def tensor(name: str, values: npt.NDArray[np.generic]) -> bytes:
    sides = b"".join(number(1, size) for size in values.shape)
    return sides + number(2, _TYPES[values.dtype.name]) + text(8, name.encode()) + text(9, values.tobytes())


def outside(name: str, shape: Sequence[int], file: str) -> bytes:
    """A float32 weight that lies in another file."""
    sides = b"".join(number(1, size) for size in shape)
    where = text(13, text(1, b"location") + text(2, file.encode()))
    return sides + number(2, FLOAT) + text(8, name.encode()) + where + number(14, 1)


def value(name: str, element: int, shape: Shape | None) -> bytes:
    sides = b""
    for size in shape or ():
        side = number(1, size) if isinstance(size, int) else text(2, size.encode()) if size else b""
        sides += text(1, side)
    kind = number(1, element) + (text(2, sides) if shape is not None else b"")
    return text(1, name.encode()) + text(2, text(1, kind))


def node(
    operator: str, inputs: Sequence[str], outputs: Sequence[str], attributes: bytes = b"", domain: str = ""
) -> bytes:
    names = b"".join(text(1, name.encode()) for name in inputs) + b"".join(text(2, name.encode()) for name in outputs)
    return names + text(4, operator.encode()) + attributes + (text(7, domain.encode()) if domain else b"")


def model(
    nodes: Sequence[bytes],
    weights: Sequence[bytes],
    inputs: Sequence[bytes],
    outputs: Sequence[bytes],
    *,
    ir: int = 8,
    opset: int = 17,
) -> bytes:
    """A model of operator set 17, and of ONNX Runtime's own."""
    graph = b"".join(text(1, each) for each in nodes) + text(2, b"graph")
    graph += b"".join(text(5, each) for each in weights)
    graph += b"".join(text(11, each) for each in inputs) + b"".join(text(12, each) for each in outputs)
    sets = ((b"", opset), (b"com.microsoft", 1))
    return number(1, ir) + text(7, graph) + b"".join(text(8, text(1, name) + number(2, which)) for name, which in sets)


def classifier(*, batch: int | str | None = "batch", beside: str = "") -> bytes:
    """Features (batch, 16) through a dense layer to class probabilities (batch, 4) and the class, whole numbers."""
    weights = np.random.Generator(np.random.Philox(7)).standard_normal((16, 4)).astype("<f4")
    given = outside("w", weights.shape, beside) if beside else tensor("w", weights)
    return model(
        [
            node("MatMul", ["features", "w"], ["logits"]),
            node("Softmax", ["logits"], ["probabilities"]),
            node("ArgMax", ["probabilities"], ["class"], integer("axis", 1) + integer("keepdims", 0)),
        ],
        [given],
        [value("features", FLOAT, [batch, 16])],
        [value("probabilities", FLOAT, [batch, 4]), value("class", INT64, [batch])],
    )


def encoder() -> bytes:
    """Tokens (batch, sequence) and a mask to vectors (batch, sequence, 8), and the mask as whole numbers."""
    table = np.random.Generator(np.random.Philox(8)).standard_normal((64, 8)).astype("<f4")
    return model(
        [
            node("Gather", ["table", "tokens"], ["vectors"]),
            node("Cast", ["mask"], ["weight"], integer("to", FLOAT)),
            node("Unsqueeze", ["weight", "last"], ["column"]),
            node("Mul", ["vectors", "column"], ["hidden"]),
            node("Cast", ["mask"], ["kept"], integer("to", INT64)),
        ],
        [tensor("table", table), tensor("last", np.array([2], dtype="<i8"))],
        [value("tokens", INT64, ["batch", "sequence"]), value("mask", BOOL, ["batch", "sequence"])],
        [value("hidden", FLOAT, ["batch", "sequence", 8]), value("kept", INT64, ["batch", "sequence"])],
    )


def average_pool() -> bytes:
    """Means of 2 × 2, padded with zeros that count at the end alone: ONNX Runtime before 1.26 divides by too few."""
    padded = _integers("kernel_shape", 2, 2) + _integers("pads", 0, 0, 1, 1) + integer("count_include_pad", 1)
    return model(
        [node("AveragePool", ["x"], ["y"], padded)],
        [],
        [value("x", FLOAT, ["batch", 1, 2, 2])],
        [value("y", FLOAT, ["batch", 1, 2, 2])],
        opset=19,
    )


def rejected_by_the_optimiser() -> bytes:
    """A Cast to its own type that feeds a product with 1 ÷ 1: ONNX Runtime folds it to what is no graph."""
    return model(
        [
            node("Cast", ["x"], ["mid"], integer("to", FLOAT)),
            node("Div", ["one", "one"], ["folded"]),
            node("Mul", ["mid", "folded"], ["y"]),
        ],
        [tensor("one", np.ones((), dtype="<f4"))],
        [value("x", FLOAT, ["batch", 4])],
        [value("y", FLOAT, ["batch", 4])],
    )


def weights_of_classifier() -> bytes:
    return np.random.Generator(np.random.Philox(7)).standard_normal((16, 4)).astype("<f4").tobytes()


def write(folder: Path, name: str, content: bytes, beside: Mapping[str, bytes] = {}) -> Path:
    path = folder / name
    path.write_bytes(content)
    for other, bytes_ in beside.items():
        (folder / other).write_bytes(bytes_)
    return path


def texts(**values: str) -> bytes:
    parts = (text(1, name.encode()) + text(4, value.encode()) + number(20, 3) for name, value in values.items())
    return b"".join(text(5, part) for part in parts)


def integer(name: str, size: int) -> bytes:
    """An attribute of a node."""
    return text(5, text(1, name.encode()) + number(3, size) + number(20, 2))


def _integers(name: str, *sizes: int) -> bytes:
    return text(5, text(1, name.encode()) + b"".join(number(8, size) for size in sizes) + number(20, 7))


def read(path: Path, sizes: dict[str, int] | None = None, values: dict[str, Path] | None = None) -> OwnFile:
    """Keep a file and describe it."""
    return store.read(path, sizes or {}, values or {})


def refused(*says: str) -> Any:
    """Expect an error that says this, in this order."""
    return pytest.raises(LevelfieldError, match=".*".join(says))
