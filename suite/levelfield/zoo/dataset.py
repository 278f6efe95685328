"""A synthetic dataset on disk, without JPEG: a model's own structured inputs as 8-bit records of one length.

The file is one header of 4,096 bytes (a line of JSON, padded with spaces) and then record after record, images as
(height, width, channels). A record becomes float32 by exact operations only (less 128, times 2⁻⁵), so that every
decoder gets the same bits.
"""

import hashlib
import math
from pathlib import Path

import msgspec
import numpy as np
import numpy.typing as npt

from levelfield.zoo import inputs, models
from levelfield.zoo.spec import Model, Tensor
from levelfield.zoo.weights import HEADER_BYTES, Arrays, header_line, replacing

FORMAT = "levelfield-dataset-1"
OFFSET = np.float32(128)
SCALE = np.float32(2.0**-5)
_CHUNK = 64

Records = npt.NDArray[np.uint8]


class Header(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a dataset's file says of itself."""

    format: str
    model: str
    items: int
    shape: tuple[int, ...]
    """Of a record: images as (height, width, channels)."""
    sha256: str
    """Of all records."""

    @property
    def record_bytes(self) -> int:
        return math.prod(self.shape)


def tensor(model: Model) -> Tensor:
    """Return the one input that a dataset holds."""
    (only,) = model.inputs
    return only


def record_shape(model: Model) -> tuple[int, ...]:
    """Return the shape of a record."""
    shape = tensor(model).shape
    return (*shape[1:], shape[0]) if len(shape) == 3 else shape


def encode(model: Model, start: int, count: int) -> Records:
    """Make records from inputs `start` … `start + count - 1`, shape (count, …)."""
    values = inputs.make(model, start, count)[tensor(model).name].astype(np.float32)
    if values.ndim == 4:
        values = values.transpose(0, 2, 3, 1)
    # To the nearest, ties to even: a single IEEE operation after two exact ones.
    levels = np.rint(values / SCALE + OFFSET)
    return np.ascontiguousarray(np.clip(levels, 0, 255).astype(np.uint8))


def decode(records: Records) -> npt.NDArray[np.float32]:
    """Return what a model takes, shape (count, …); images are (count, channels, height, width), not so in memory."""
    return channels_first((records.astype(np.float32) - OFFSET) * SCALE)


def channels_first(values: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
    """Show (batch, height, width, channels) images as (batch, channels, height, width), without a copy."""
    return values.transpose(0, 3, 1, 2) if values.ndim == 4 else values


def save(model: Model, path: Path, items: int | None = None) -> Header:
    """Make a model's dataset and write it, whole or not at all; raises ValueError where the model has none."""
    if not model.dataset_items:
        with_one = (name for name in models.names() if models.get(name).dataset_items)
        raise ValueError(f"{model.title} has no dataset; there is one for {', '.join(with_one)}.")
    count = items if items is not None else model.dataset_items
    digest = hashlib.sha256()
    with replacing(path) as file:
        file.seek(HEADER_BYTES)
        for start in range(0, count, _CHUNK):
            records = encode(model, start, min(_CHUNK, count - start))
            digest.update(records.data)
            file.write(records.data)
        header = Header(FORMAT, model.name, count, record_shape(model), digest.hexdigest())
        file.seek(0)
        file.write(header_line(msgspec.to_builtins(header)))
    return header


def read(path: Path) -> Header:
    """Read a dataset's header.

    Raises ValueError: if the file is missing, is no dataset, is empty, or has not the length that its header says.
    """
    remedy = f"Delete {path}: it is made again when it is needed."
    try:
        with path.open("rb") as file:
            raw = file.read(HEADER_BYTES)
        size = path.stat().st_size
    except OSError as error:
        raise ValueError(f"The dataset {path} cannot be read: {error.strerror or error}.") from error
    try:
        header = msgspec.json.decode(raw, type=Header)
    except msgspec.MsgspecError:
        raise ValueError(f"{path} is not a dataset of this version of Levelfield. {remedy}") from None
    if header.format != FORMAT:
        raise ValueError(f"{path} is not a dataset of this version of Levelfield. {remedy}")
    if header.items < 1 or header.record_bytes < 1:
        raise ValueError(f"The dataset {path} is empty. {remedy}")
    if size != HEADER_BYTES + header.items * header.record_bytes:
        raise ValueError(f"The dataset {path} is {size} bytes long, which is not what its header says. {remedy}")
    return header


def records(path: Path) -> Records:
    """Map a dataset's records into memory, shape (items, …); raises as `read` does."""
    header = read(path)
    return np.memmap(path, np.uint8, mode="r", offset=HEADER_BYTES, shape=(header.items, *header.shape))


def batch(model: Model, path: Path, start: int, count: int) -> Arrays:
    """Return records `start` … `start + count - 1` as a model takes them; raises as `read` does."""
    return {tensor(model).name: decode(np.asarray(records(path)[start : start + count]))}


def sha256(path: Path) -> str:
    """Return the digest of a dataset's records as they are now, whatever its header says; raises as `read` does."""
    held = records(path)
    digest = hashlib.sha256()
    for start in range(0, len(held), _CHUNK):
        digest.update(np.ascontiguousarray(held[start : start + _CHUNK]).data)
    return digest.hexdigest()
