"""Writer of ncnn's format: layers in text, and their weights in one file of float32."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt

MAGIC = 7767517
"""Of a file of layers, as in ncnn's `net.cpp`."""
FLOAT32 = b"\0\0\0\0"
"""Before weights that may have another type: these are float32."""
Tensor = npt.NDArray[Any]
"""Of float32."""
Values = dict[int, int | float | Sequence[float]]
"""Parameters of a layer by their numbers, as in ncnn's list of operators."""


class Node(msgspec.Struct, frozen=True):
    """A layer with one output."""

    kind: str
    inputs: tuple[str, ...]
    output: str
    values: Values


class Graph:
    """A network that is being written: each method adds a layer, and returns the name of its output."""

    def __init__(self) -> None:
        self._nodes: list[Node] = []
        self._weights: list[bytes] = []

    def add(self, kind: str, *inputs: str, values: Values | None = None, weights: Sequence[bytes] = ()) -> str:
        """Add a layer."""
        output = f"b{len(self._nodes)}"
        self._nodes.append(Node(kind, inputs, output, values or {}))
        self._weights.extend(weights)
        return output

    def input(self, name: str) -> str:
        """Add an input of the network."""
        self._nodes.append(Node("Input", (), name, {}))
        return name

    def write(self, folder: Path, output: str) -> tuple[Path, Path]:
        """Write both files.

        An output that several layers read is split first, as ncnn asks for.
        """
        nodes, blobs = _split([*self._nodes, Node("Noop", (output,), "output", {})])
        lines = [str(MAGIC), f"{len(nodes)} {blobs}", *nodes]
        layers, weights = folder / "model.param", folder / "model.bin"
        layers.write_text("\n".join(lines) + "\n", encoding="ascii")
        with weights.open("wb") as file:
            file.writelines(self._weights)
        return layers, weights


def plain(array: Tensor) -> bytes:
    """Return a tensor as layers read what is always float32: biases, scales and constants."""
    return np.ascontiguousarray(array, "<f4").tobytes()


def typed(array: Tensor) -> bytes:
    """Return a tensor as layers read weights, which may have another type."""
    return FLOAT32 + plain(array)


def _split(nodes: Sequence[Node]) -> tuple[list[str], int]:
    """Return the lines of layers, with one reader for each output, and the number of outputs."""
    readers: dict[str, int] = {}
    for node in nodes:
        for name in node.inputs:
            readers[name] = readers.get(name, 0) + 1
    lines, taken, blobs = [], dict.fromkeys(readers, 0), 0
    for number, node in enumerate(nodes):
        names = []
        for name in node.inputs:
            names.append(f"{name}_{taken[name]}" if readers[name] > 1 else name)
            taken[name] += 1
        values = [_value(key, value) for key, value in node.values.items()]
        lines.append(" ".join([node.kind, f"l{number}", str(len(names)), "1", *names, node.output, *values]))
        blobs += 1
        count = readers.get(node.output, 0)
        if count > 1:
            copies = [f"{node.output}_{place}" for place in range(count)]
            lines.append(" ".join(["Split", f"s{number}", "1", str(count), node.output, *copies]))
            blobs += count
    return lines, blobs


def _value(key: int, value: float | Sequence[float]) -> str:
    if isinstance(value, Sequence):
        return ",".join([f"{-23300 - key}={len(value)}", *(f"{each:e}" for each in value)])
    return f"{key}={value:e}" if isinstance(value, float) else f"{key}={value}"
