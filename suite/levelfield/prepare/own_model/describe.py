"""From the inputs that an ONNX file declares to what is measured; what is impossible is refused with its reason."""

import hashlib
import math
import re
from collections.abc import Mapping
from pathlib import PurePosixPath

import msgspec

from levelfield.errors import LevelfieldError
from levelfield.prepare.own_model.onnx_format import Dimension, Graph, Value
from levelfield.record.schema import OwnFile, OwnInput
from levelfield.worker.sources import digest_of
from levelfield.zoo.spec import DTYPES

DIGEST_CHARS = 8
STEM_CHARS = 40
MAX_SIZE = 1 << 24
"""Largest size of a dimension that can be given."""
MAX_NUMBERS = 1 << 30
MAX_VALUES = 64
"""Inputs, and outputs, at the most."""
_UNKIND = re.compile(r"[^A-Za-z0-9._-]+")


class Content(msgspec.Struct, frozen=True):
    """A file that is kept here, with those beside it."""

    name: str
    sha256: str
    size_bytes: int
    beside: dict[str, str] = {}

    @property
    def identity(self) -> str:
        """Digest of all of it."""
        return digest_of({"": self.sha256, **self.beside}) if self.beside else self.sha256


def describe(content: Content, graph: Graph, dimensions: Mapping[str, int], values: Mapping[str, str]) -> OwnFile:
    """Say what will be measured.

    `values`: SHA-256 of the files with values that were given, by input. Raises LevelfieldError: a dimension has no
    size, an input or output is of a kind that cannot be given or compared, or what was given is for none of them.
    """
    name = content.name
    _check_kinds(name, graph)
    _check_names(name, graph, dimensions, values)
    batch = _batch(name, graph, dimensions)
    inputs = tuple(_input(name, value, dimensions, batch, values.get(value.name, "")) for value in graph.inputs)
    whole = sum(math.prod(each.shape) for each in inputs)
    if whole > MAX_NUMBERS:
        raise LevelfieldError(f"The inputs of one call of {name} have {whole} numbers, more than can be given.")
    return OwnFile(
        model=_model_name(content, dimensions),
        file=name,
        sha256=content.sha256,
        size_bytes=content.size_bytes,
        inputs=inputs,
        outputs=tuple(value.name for value in graph.outputs),
        precision="int8" if graph.quantised else "fp16" if graph.halves else "fp32",
        opset=graph.opset,
        dimensions=dict(dimensions),
        beside=content.beside,
    )


def shapes(model: OwnFile, batch: int) -> dict[str, tuple[int, ...]]:
    """Return the whole shape of every input of one call."""
    return {each.name: ((batch,) if each.batched else ()) + each.shape for each in model.inputs}


def _model_name(content: Content, dimensions: Mapping[str, int]) -> str:
    """`encoder-1a2b3c4d`, `encoder-1a2b3c4d+sequence=128`: the same name only for the same content and sizes."""
    stem = _UNKIND.sub("_", PurePosixPath(content.name).stem)[:STEM_CHARS] or "model"
    sizes = "".join(f"+{_UNKIND.sub('_', name)}={size}" for name, size in sorted(dimensions.items()))
    if len(sizes) > STEM_CHARS:
        sizes = f"+{hashlib.sha256(sizes.encode()).hexdigest()[:DIGEST_CHARS]}"
    return f"{stem}-{content.identity[:DIGEST_CHARS]}{sizes}"


def _check_kinds(name: str, graph: Graph) -> None:
    if not graph.inputs or not graph.outputs:
        what = "outputs" if graph.inputs else "inputs"
        raise LevelfieldError(f"{name} has no {what}: there is nothing to {'compare' if graph.inputs else 'give it'}.")
    if max(len(graph.inputs), len(graph.outputs)) > MAX_VALUES:
        raise LevelfieldError(f"{name} has more inputs or outputs than {MAX_VALUES}, the most that are measured.")
    twice = {value.name for value in graph.inputs}
    if len(twice) < len(graph.inputs) or "" in twice:
        raise LevelfieldError(f"{name} has two inputs of one name, or one without a name: it is damaged.")
    for value in graph.inputs:
        if value.dtype not in DTYPES:
            raise LevelfieldError(
                f"The input {value.name} of {name} takes {value.dtype or 'something else than a tensor'}, of which "
                "there are no seeded values.",
                fix=f"Export it with an input of {', '.join(DTYPES[:3])}, an integer type or bool.",
            )
        if value.shape is None:
            raise LevelfieldError(
                f"The file {name} does not say how many dimensions its input {value.name} has.",
                fix="Export it with the shapes of its inputs.",
            )
    for value in graph.outputs:
        if value.dtype not in DTYPES:
            raise LevelfieldError(
                f"The output {value.name} of {name} is {value.dtype or 'no tensor'}, which cannot be compared.",
                fix="Export it with tensors of numbers as outputs (for scikit-learn's models: zipmap=False).",
            )


def _check_names(name: str, graph: Graph, dimensions: Mapping[str, int], values: Mapping[str, str]) -> None:
    there = dict.fromkeys(
        called
        for value in graph.inputs
        for axis, side in enumerate(value.shape or ())
        if side.size is None
        for called in _names(value, axis, side)
    )
    for given, size in dimensions.items():
        if given not in there:
            known = ", ".join(there) or "all have one"
            raise LevelfieldError(f"{name} has no dimension {given} without a size.", fix=f"There are: {known}.")
        if not 1 <= size <= MAX_SIZE:
            raise LevelfieldError(
                f"{given} cannot be {size} long.", fix=f"Give it a size from 1 to {MAX_SIZE}: --input {given}=128."
            )
    inputs = [value.name for value in graph.inputs]
    for given in values:
        if given not in inputs:
            raise LevelfieldError(f"{name} has no input {given}.", fix=f"Its inputs are {', '.join(inputs)}.")


def _names(value: Value, axis: int, side: Dimension) -> tuple[str, ...]:
    """What a user may call a dimension: its name, and its index."""
    indexed = f"{value.name}[{axis}]"
    return (side.name, indexed) if side.name else (indexed,)


def _given(value: Value, axis: int, side: Dimension, dimensions: Mapping[str, int]) -> int | None:
    return next((dimensions[name] for name in reversed(_names(value, axis, side)) if name in dimensions), side.size)


def _batch(name: str, graph: Graph, dimensions: Mapping[str, int]) -> set[str]:
    """Return what the batch is called: whatever inputs begin with that has no size."""
    firsts = [(value, value.shape[0]) for value in graph.inputs if value.shape]
    found = dict.fromkeys(side.name for value, side in firsts if _given(value, 0, side, dimensions) is None)
    if len(found) > 1:
        first, second = (one or "one without a name" for one in list(found)[:2])
        raise LevelfieldError(
            f"The inputs of {name} begin with different dimensions without a size, {first} and {second}, and only one "
            "can be the batch.",
            fix=f"Say how long the other is: --input {next(filter(None, reversed(found)), 'NAME')}=128.",
        )
    return set(found)


def _input(name: str, value: Value, dimensions: Mapping[str, int], batch: set[str], sha256: str) -> OwnInput:
    """Describe an input, of which the batch alone has no size."""
    found: list[int] = []
    batched = False
    for axis, side in enumerate(value.shape or ()):
        size = _given(value, axis, side, dimensions)
        if size is not None:
            found.append(size)
        elif axis == 0 and side.name in batch:
            batched = True
        else:
            called = _names(value, axis, side)[0]
            what = f"the dimension {side.name}" if side.name else f"a dimension without a name (number {axis})"
            raise LevelfieldError(
                f"The input {value.name} of {name} has {what}, of which the file does not say how long it is.",
                fix=f"Say it: --input {called}=128.",
            )
    return OwnInput(value.name, value.dtype, tuple(found), batched, sha256)
