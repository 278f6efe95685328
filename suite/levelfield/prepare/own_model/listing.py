"""What an ONNX file is, before it is measured: inputs, sizes that are missing, precision, operators, and refusals."""

from collections.abc import Iterator
from pathlib import Path

import msgspec

from levelfield.errors import LevelfieldError
from levelfield.prepare.own_model import describe, operators, python_file, store
from levelfield.prepare.own_model.onnx_format import Value


class Tensor(msgspec.Struct, frozen=True):
    """An input or output."""

    name: str
    type: str
    shape: tuple[int | str, ...]
    """Sizes, and names of dimensions without one; `?` where there is none."""


class File(msgspec.Struct, frozen=True):
    """What is known of a file without running it."""

    file: str
    size_bytes: int
    ir: int
    opset: int
    precision: str
    inputs: tuple[Tensor, ...]
    outputs: tuple[Tensor, ...]
    batch: str
    """Dimension that is the batch; empty: a call is one item."""
    missing: tuple[str, ...]
    """Dimensions whose size must be given."""
    command: str
    """What measures it."""
    operators: dict[str, int]
    """How often each is called."""
    beside: tuple[str, ...]
    """Files with its weights."""
    refused: tuple[str, ...]
    """Why it cannot be measured; empty: it can."""


def read(path: Path) -> File:
    """Read a file, and keep no copy.

    Raises LevelfieldError: it cannot be read, or is no ONNX model.
    """
    if ".py" in path.name:
        there = python_file.builders(str(path))
        which = f"; it defines {', '.join(there)}" if there else ""
        raise LevelfieldError(
            f"{path.name} is a network in Python, which says what it takes when it runs{which}.",
            fix=f"Show what would be measured: {python_file.command(str(path))}.",
        )
    if not path.exists():
        raise LevelfieldError(f"There is no file {path}.", fix="`levelfield list` without a name shows all there is.")
    name, size_bytes, graph = store.look(path)
    sizes = describe.resolve(name, graph, {})
    return File(
        file=name,
        size_bytes=size_bytes,
        ir=graph.ir,
        opset=graph.opset,
        precision=operators.precision(graph),
        inputs=tuple(map(_tensor, graph.inputs)),
        outputs=tuple(map(_tensor, graph.outputs)),
        batch=", ".join(sorted(sizes.batch)),
        missing=tuple(sizes.missing),
        command=describe.command(name, sizes, {}),
        operators=operators.names(graph),
        beside=graph.beside,
        refused=tuple(str(each) for each in (*describe.refusals(name, graph), *_not_beside(path, graph.beside))),
    )


def _tensor(value: Value) -> Tensor:
    sides = (
        ("?",)
        if value.shape is None
        else tuple(side.name or "?" if side.size is None else side.size for side in value.shape)
    )
    return Tensor(value.name, value.dtype, sides)


def _not_beside(path: Path, names: tuple[str, ...]) -> Iterator[LevelfieldError]:
    for name in names:
        try:
            store.find_beside(path, name)
        except LevelfieldError as error:
            yield error
