"""Seeded weights, their digest, and the file in which workers are given them.

The file is one header of 4,096 bytes (a line of JSON, padded with spaces) and then every parameter as raw little-endian
float32 in the order of the model's specification, so that it can be mapped instead of read.
"""

import hashlib
import json
import os
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, TypeAlias

import msgspec
import numpy as np
import numpy.typing as npt

from levelfield.zoo import bits, own_weights
from levelfield.zoo.spec import Model

Arrays: TypeAlias = dict[str, npt.NDArray[np.generic]]
"""Named tensors in host memory."""

SEED = "levelfield/1"
"""Prefix of every stream's name; a change of it changes every weight and input."""

HEADER_BYTES = 4096
_FORMAT = "levelfield-weights-1"


def make(model: Model) -> Arrays:
    """Make a model's weights from their names alone. Raises ValueError: they are the user's own."""
    if own_weights.is_name(model.name):
        raise ValueError(f"The weights of {model.name} are read from a folder of their own, and not made.")
    return {
        parameter.name: bits.scaled(
            f"{SEED}/{model.name}/weights/{parameter.name}", parameter.shape, mean=parameter.mean, std=parameter.std
        )
        for parameter in model.parameters
    }


def sha256(arrays: Mapping[str, npt.NDArray[np.generic]]) -> str:
    """Return the SHA-256 of a set of tensors: names, types, shapes and values, whatever their order in memory."""
    digest = hashlib.sha256()
    for name in sorted(arrays):
        array = np.ascontiguousarray(arrays[name])
        digest.update(f"{name} {array.dtype.str} {array.shape}\n".encode())
        digest.update(array.reshape(-1).view(np.uint8).data)
    return digest.hexdigest()


def save(model: Model, path: Path) -> None:
    """Make a model's weights and write them to a file, whole or not at all; its folder must exist."""
    write(model, path, make(model).values())


def write(model: Model, path: Path, arrays: Iterable[npt.NDArray[np.generic]]) -> None:
    """Write a model's weights to a file, whole or not at all. `path`: file to write; its folder must exist."""
    with replacing(path, 0o600 if own_weights.is_name(model.name) else 0o644) as file:
        file.write(header_line(_header(model)))
        for array in arrays:
            file.write(array.reshape(-1).view(np.uint8).data)


@contextmanager
def replacing(path: Path, mode: int = 0o644) -> Iterator[BinaryIO]:
    """Open a file to write, which takes the place of another once all is written, and is removed if that fails."""
    descriptor, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}-")
    try:
        with os.fdopen(descriptor, "wb") as file:
            yield file
            os.fchmod(file.fileno(), mode)
        Path(temporary).replace(path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def header_line(values: Mapping[str, Any]) -> bytes:
    """Return a header of `HEADER_BYTES`: a line of JSON, padded with spaces."""
    return json.dumps(values).encode().ljust(HEADER_BYTES - 1) + b"\n"


def load(path: Path, model: Model) -> Arrays:
    """Map the file of a model's weights into memory; writing to an array changes neither the file nor another process.

    Raises ValueError: it is not a weights file, or one of another model or version.
    """
    remedy = f"Delete {path}: it is made again when it is needed."
    with path.open("rb") as file:
        raw = file.read(HEADER_BYTES)
    found = _parse(raw)
    if found is None or found.get("format") != _FORMAT:
        raise ValueError(f"{path} is not a weights file of this version of Levelfield. {remedy}")
    expected = _header(model)
    if found != expected:
        what = f"{found.get('model')} ({str(found.get('specification'))[:12]})"
        raise ValueError(f"{path} holds weights of {what}, not of {model.name} as it is now defined. {remedy}")
    size = HEADER_BYTES + 4 * model.parameter_count
    if path.stat().st_size != size:
        raise ValueError(f"{path} has {path.stat().st_size} bytes and should have {size}. {remedy}")
    flat = np.memmap(path, dtype="<f4", mode="c", offset=HEADER_BYTES, shape=(model.parameter_count,))
    arrays: Arrays = {}
    start = 0
    for parameter in model.parameters:
        # A plain array over the mapping: memmap's own class is slower to slice and surprises frameworks.
        arrays[parameter.name] = np.asarray(flat[start : start + parameter.count]).reshape(parameter.shape)
        start += parameter.count
    return arrays


def _header(model: Model) -> dict[str, Any]:
    """Identify a model's weights without making them: they are a function of the seed and the specification."""
    specification = msgspec.json.encode([SEED, model.name, model.parameters])
    return {
        "format": _FORMAT,
        "model": model.name,
        "specification": hashlib.sha256(specification).hexdigest(),
        "parameters": model.parameter_count,
    }


def _parse(raw: bytes) -> dict[str, Any] | None:
    try:
        found = json.loads(raw)
    except ValueError:
        return None
    return found if isinstance(found, dict) else None
