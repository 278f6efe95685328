"""Structured inputs: input *i* of a model depends on *i* alone, never on the batch it stands in.

Random networks answer nearly alike to any noise, so the inputs have structure (patterns, lengths, directions) that
makes the answers differ; each model's own folder says which.

A user's own file is given the user's values, or seeded ones, which depend on an input's name, shape and type and on the
item's index, never on what the file computes: two versions of a file are given the same.

=====================  =======================================================================================
floating point         uniform in (−1, 1), symmetric about zero, never zero; float32, or rounded from it once
uint8                  uniform in 0 … 255, as in images
other integers, bool   0 or 1: valid as a mask, a segment and a token of any vocabulary, though of no text's likeness
divisors               of whole numbers: 1 or 2, of bool 1, of uint8 1 … 255, so that nothing is divided by zero
=====================  =======================================================================================
"""

import math
import os
import re
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO, Literal

import numpy as np
import numpy.typing as npt

from levelfield.zoo import bits
from levelfield.zoo.spec import DTYPES, FLOATING, Model, Own, OwnInput
from levelfield.zoo.weights import SEED, Arrays

_MOST_HEADER_BYTES = 10_000
_HEADER = re.compile(
    rb"'descr': *'(?P<descr>[<>|=]?(?:[iu][1248]|f[248]|b1|c8|c16))'|'fortran_order': *(?P<order>True|False)"
    rb"|'shape': *(?P<shape>\((?: *[0-9]{1,18},)*(?: *[0-9]{1,18})? *\))"
)
_WHOLE_HEADER = re.compile(rb"\{(?: *(?:" + re.sub(rb"\?P<\w+>", rb"?:", _HEADER.pattern) + rb"),?){3} *\}\s*")


def make(model: Model, start: int, count: int, *, layout: str = "NCHW") -> Arrays:
    """Make inputs `start` … `start + count - 1` of a model, one entry an input tensor, shape (count, …).

    `layout`: order of images *in memory*, `NCHW` (C order) or `NHWC`; shape and values are the same, and the right one
    costs no copy. Raises ValueError: there would be no input, or the model has no seeded inputs.
    """
    if not model.has_inputs:
        raise ValueError(f"{model.title} has no seeded inputs: it is trained on data.")
    if count < 1 or start < 0:
        raise ValueError(f"Inputs {start} to {start + count - 1} were asked for; at least one is needed, from 0 on.")
    seeded_input = model.module().seeded_input
    if model.operator is not None:
        seeded_input = partial(seeded_input, model)
    items = [seeded_input(f"{SEED}/{model.inputs_stream}/inputs/{index}") for index in range(start, start + count)]
    arrays = {tensor.name: np.stack([item[tensor.name] for item in items]) for tensor in model.inputs}
    if layout == "NCHW":
        return arrays
    if layout == "NHWC":
        return {name: _channels_last(array) if array.ndim == 4 else array for name, array in arrays.items()}
    raise ValueError(f"There is no memory layout {layout!r}; there are NCHW and NHWC.")


def _channels_last(images: npt.NDArray[np.generic]) -> npt.NDArray[np.generic]:
    return np.ascontiguousarray(images.transpose(0, 2, 3, 1)).transpose(0, 3, 1, 2)


def make_own(model: Own, start: int, count: int) -> Arrays:
    """Make inputs `start` … `start + count - 1`; what has no batch has values of its own in every call.

    Raises ValueError: there would be no item, or the user's values are not of the input's shape and type.
    """
    if count < 1 or start < 0:
        raise ValueError(f"Items {start} to {start + count - 1} were asked for; at least one is needed, from 0 on.")
    return {each.name: _values(each, start, count) for each in model.inputs}


def _values(own_input: OwnInput, start: int, count: int) -> npt.NDArray[np.generic]:
    if own_input.path is not None:
        values = read(Path(own_input.path), own_input)
        if not own_input.batched:
            return np.array(values)
        items = values.shape[own_input.axis]
        taken: npt.NDArray[np.generic] = np.take(values, np.arange(start, start + count) % items, axis=own_input.axis)
        return taken
    if not own_input.batched:
        return _seeded(own_input, start // count)
    return np.stack([_seeded(own_input, index) for index in range(start, start + count)], axis=own_input.axis)


def _seeded(own_input: OwnInput, index: int) -> npt.NDArray[np.generic]:
    values = seeded(f"{SEED}/own/{own_input.name}/{index}", own_input.shape, own_input.dtype)
    if not own_input.least:
        return values
    if own_input.dtype in {"bool", "uint8"}:
        return np.where(values == 0, values.dtype.type(1), values)
    more: npt.NDArray[np.generic] = np.add(values, 1, dtype=values.dtype)
    return more


def seeded(name: str, shape: tuple[int, ...], dtype: str) -> npt.NDArray[np.generic]:
    """Return the values of a stream, as the table above says. Raises ValueError: there are none for the type."""
    if dtype in FLOATING:
        return bits.symmetric(name, shape).astype(dtype, copy=False)
    if dtype not in DTYPES:
        raise ValueError(f"There are no seeded values of the type {dtype}.")
    size = int(np.prod(shape, dtype=np.int64))
    return bits.integers(name, size, bits=8 if dtype == "uint8" else 1).astype(dtype).reshape(shape)


def read(path: Path, own_input: OwnInput) -> npt.NDArray[np.generic]:
    """Return the values that a user gave for an input; of one with a batch, so many items as there are.

    Raises ValueError: they are not of its type or shape, or none at all; or it is no such file.
    """
    try:
        with path.open("rb") as file:
            dtype, order, given = _header(file)
            start, length = file.tell(), os.fstat(file.fileno()).st_size
    except OSError as error:
        raise ValueError(f"It cannot be read: {error}.") from error
    at, shape = own_input.axis, own_input.shape
    items = given[at : at + 1] if own_input.batched else ()
    expected = (*shape[:at], *items, *shape[at:])
    if dtype.name != own_input.dtype or given != expected or (own_input.batched and not items):
        shown = [*map(str, shape[:at]), *(["items"] if own_input.batched else []), *map(str, shape[at:])]
        raise ValueError(
            f"It holds {dtype.name} of shape {given}, and {own_input.name} takes "
            f"{own_input.dtype} of ({', '.join(shown)})."
        )
    if items == (0,):
        raise ValueError("It holds no item.")
    if (size := math.prod(given) * dtype.itemsize) > length - start:
        raise ValueError(f"It says that it holds {size:,} bytes, and has {length - start:,}.")
    if not size:
        return np.empty(given, dtype)
    return np.memmap(path, dtype, "r", start, given, order)


def _header(file: BinaryIO) -> tuple[np.dtype[Any], Literal["C", "F"], tuple[int, ...]]:
    """Return type, order and shape of a NumPy file; raises ValueError, where NumPy's own reader evaluates the text."""
    start = file.read(8)
    length = int.from_bytes(file.read(2 if start[6:7] == b"\x01" else 4), "little")
    said = file.read(length) if start[:6] == b"\x93NUMPY" and length <= _MOST_HEADER_BYTES else b""
    found = {name: value for each in _HEADER.finditer(said) for name, value in each.groupdict().items() if value}
    if not _WHOLE_HEADER.fullmatch(said) or len(found) != 3:
        raise ValueError("It is no file of one array of numbers, as numpy.save writes it.")
    shape = tuple(map(int, filter(None, found["shape"].strip(b"() ").split(b","))))
    return np.dtype(found["descr"].decode()), "F" if found["order"] == b"True" else "C", shape
