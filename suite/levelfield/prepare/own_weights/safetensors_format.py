"""Reading safetensors files: a header of JSON that says where each tensor's bytes are, and then these bytes.

Written after https://huggingface.co/docs/safetensors/index#format: eight bytes with the length of the header, little
endian; the header; one buffer. Offsets are relative to the buffer, and tensors fill it without holes. Nothing in such a
file is executed, and everything that it says is checked against its length before a tensor is touched.
"""

import math
import mmap
import os
from collections.abc import Mapping
from io import BufferedReader
from typing import Annotated, Any

import msgspec
import numpy as np
import numpy.typing as npt

LENGTH_BYTES = 8
MOST_HEADER_BYTES = 32 << 20
"""Some hundred thousand tensors; the format itself ends at 100 MB."""
MOST_DIMENSIONS = 8
FLOATING = {"F32": 4, "F16": 2, "BF16": 2}
"""Types that become float32 exactly, and the bytes of an element."""
_ITEM_BYTES = FLOATING | {
    "F64": 8,
    "I64": 8,
    "U64": 8,
    "I32": 4,
    "U32": 4,
    "I16": 2,
    "U16": 2,
    "I8": 1,
    "U8": 1,
    "BOOL": 1,
    "F8_E4M3": 1,
    "F8_E5M2": 1,
}
_Whole = Annotated[int, msgspec.Meta(ge=0, le=1 << 50)]


class Stored(msgspec.Struct, frozen=True):
    """What a header says of a tensor."""

    dtype: str
    shape: Annotated[tuple[_Whole, ...], msgspec.Meta(max_length=MOST_DIMENSIONS)]
    data_offsets: tuple[_Whole, _Whole]
    """Its first byte in the buffer, and the one after its last."""


class Mapped:
    """A file of tensors, mapped into memory.

    Parameters
    ----------
    file
        A plain file, open for reading; it may be closed afterwards.

    Raises
    ------
    ValueError
        It is no safetensors file, or a damaged one.
    """

    def __init__(self, file: BufferedReader) -> None:
        size = os.fstat(file.fileno()).st_size
        self.tensors, start = _header(file, size)
        self._buffer = memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))[start:]

    def read(self, name: str) -> npt.NDArray[np.float32]:
        """Return a tensor as float32, in C order."""
        stored = self.tensors[name]
        begin, end = stored.data_offsets
        raw = self._buffer[begin:end]
        if stored.dtype == "BF16":  # the upper half of a float32
            wide = np.frombuffer(raw, dtype="<u2").astype(np.uint32) << np.uint32(16)
            return wide.view(np.float32).reshape(stored.shape)
        found = np.frombuffer(raw, dtype="<f4" if stored.dtype == "F32" else "<f2").reshape(stored.shape)
        return found.astype(np.float32, copy=False)


def _header(file: BufferedReader, size: int) -> tuple[dict[str, Stored], int]:
    """Return the tensors of a file, and where its buffer begins."""
    length = int.from_bytes(file.read(LENGTH_BYTES), "little")
    if size < LENGTH_BYTES + 2 or length < 2:
        raise ValueError("it is too short to hold a header")
    if length > MOST_HEADER_BYTES:
        raise ValueError(f"its header would have {length:,} bytes, and {MOST_HEADER_BYTES:,} are the most")
    if LENGTH_BYTES + length > size:
        raise ValueError(f"its header would have {length:,} bytes, and the file has {size:,}")
    raw = file.read(length)
    if not raw.startswith(b"{"):
        raise ValueError("its header is no JSON object")
    try:
        entries = msgspec.json.decode(raw, type=dict[str, msgspec.Raw])
        entries.pop("__metadata__", None)
        found = {name: msgspec.json.decode(entry, type=Stored) for name, entry in entries.items()}
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise ValueError(f"its header cannot be read ({error})") from error
    _check(found, size - LENGTH_BYTES - length)
    return found, LENGTH_BYTES + length


def _check(tensors: Mapping[str, Stored], buffer_bytes: int) -> None:
    """Refuse tensors that overlap, leave holes, end beyond the file, or have not the length of their shape."""
    at = 0
    for name, stored in sorted(tensors.items(), key=_by_place):
        begin, end = stored.data_offsets
        if begin != at:
            raise ValueError(f"its tensor {name[:80]!r} overlaps another, or leaves a hole before it")
        item = _ITEM_BYTES.get(stored.dtype)
        if item is not None and end - begin != item * math.prod(stored.shape):
            raise ValueError(f"its tensor {name[:80]!r} has not as many bytes as its shape needs")
        if end < begin:
            raise ValueError(f"its tensor {name[:80]!r} ends before it begins")
        at = end
    if at != buffer_bytes:
        raise ValueError(f"its tensors have {at:,} bytes, and {buffer_bytes:,} are there: it may be cut off")


def _by_place(entry: tuple[str, Stored]) -> Any:  # noqa: ANN401  (a key)
    return entry[1].data_offsets
