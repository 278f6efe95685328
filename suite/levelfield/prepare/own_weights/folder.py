"""A folder as the transformers library saves a network: its configuration, and its tensors in one file or several.

Only safetensors files are read. Files that hold pickled objects are refused: to read one is to run what it says.

A safetensors file (https://huggingface.co/docs/safetensors/index#format) has eight bytes with the length of a header,
little endian; the header, as JSON; and one buffer. Offsets are relative to the buffer, and tensors fill it without
holes. Nothing in such a file is executed, and all that it says is checked against its length before a tensor is read.
"""

import hashlib
import math
import mmap
import os
from collections.abc import Mapping
from functools import cached_property
from io import BufferedReader
from pathlib import Path
from typing import Annotated

import msgspec
import numpy as np
import numpy.typing as npt

from levelfield import untrusted
from levelfield.errors import LevelfieldError, explained, printable

LENGTH_BYTES = 8
MOST_HEADER_BYTES = 32 << 20
"""Some hundred thousand tensors; the format itself ends at 100 MB."""
MOST_DIMENSIONS = 8
FLOATING = {"F32": 4, "F16": 2, "BF16": 2}
"""Types that become float32 exactly, and the bytes of an element."""
_ITEM_BYTES = FLOATING | {
    "F64": 8, "I64": 8, "U64": 8, "I32": 4, "U32": 4, "I16": 2, "U16": 2, "I8": 1, "U8": 1, "BOOL": 1,
    "F8_E4M3": 1, "F8_E5M2": 1,
}  # fmt: skip
_CHUNK = 1 << 22
_Whole = Annotated[int, msgspec.Meta(ge=0, le=1 << 50)]


class Stored(msgspec.Struct, frozen=True, forbid_unknown_fields=False):
    dtype: str
    shape: Annotated[tuple[_Whole, ...], msgspec.Meta(max_length=MOST_DIMENSIONS)]
    data_offsets: tuple[_Whole, _Whole]
    """Its first byte in the buffer, and the one after its last."""


class Mapped:
    """A file of tensors, mapped into memory; raises ValueError where it is no safetensors file, or a damaged one."""

    def __init__(self, file: BufferedReader) -> None:
        size = os.fstat(file.fileno()).st_size
        self.tensors, start = _header(file, size)
        self._whole = memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
        self._buffer = self._whole[start:]
        self.size_bytes = size

    @cached_property
    def sha256(self) -> str:
        digest = hashlib.sha256()
        for start in range(0, self.size_bytes, _CHUNK):
            digest.update(self._whole[start : start + _CHUNK])
        return digest.hexdigest()

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
    for name, stored in sorted(tensors.items(), key=lambda entry: entry[1].data_offsets):
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


CONFIG = "config.json"
SINGLE = "model.safetensors"
INDEX = "model.safetensors.index.json"
MOST_CONFIG_BYTES = 1 << 20
MOST_INDEX_BYTES = 64 << 20
MOST_SHARDS = 1000
_CONVERT = 'convert it where you trust it: AutoModel.from_pretrained("FOLDER").save_pretrained("NEW")'
_AGAIN = "Save it again with save_pretrained, or fetch the folder again."


class Folder(msgspec.Struct, frozen=True):
    name: str
    """Its own, without where it lies."""
    config: bytes
    small: dict[str, str]
    """Name to SHA-256, of what says which tensors there are."""
    size_bytes: int
    tensors: dict[str, tuple[str, Mapped]]
    """Name of a tensor to the file that holds it."""

    @property
    def files(self) -> dict[str, str]:
        """Name to SHA-256, which takes seconds for every few gigabytes."""
        return self.small | {file: mapped.sha256 for file, mapped in self.tensors.values()}

    @property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        return {name: self.stored(name).shape for name in self.tensors}

    def stored(self, name: str) -> Stored:
        return self.tensors[name][1].tensors[name]

    def file_of(self, name: str) -> str:
        return self.tensors[name][0]

    def check_type(self, name: str) -> None:
        """Raise LevelfieldError where a tensor is of a type that is not read."""
        if (dtype := self.stored(name).dtype) not in FLOATING:
            raise LevelfieldError(
                f"{self.file_of(name)} holds {shown(name)} as {shown(dtype)}: {', '.join(FLOATING)} are read.",
                fix="Save the network in one of these types: model.float().save_pretrained(…).",
            )

    def read(self, name: str) -> npt.NDArray[np.float32]:
        """Return a tensor as float32.

        Raises LevelfieldError: it is of another type, or a value of it is no number.
        """
        self.check_type(name)
        file, mapped = self.tensors[name]
        found = mapped.read(name)
        if not np.isfinite(found).all():
            raise LevelfieldError(
                f"{shown(name)} in {file} holds values that are infinite or no number.",
                fix="Nothing could be compared. Give a network that answers.",
            )
        return found


def read(path: Path) -> Folder:
    """Read what a folder declares; its tensors stay in their files.

    Raises LevelfieldError: a file is missing, damaged, pickled, or lies elsewhere.
    """
    if not _is_folder(path):
        raise LevelfieldError(
            f"{shown(path.name)} is not a folder.",
            fix=f"Name a folder with {CONFIG} and {SINGLE}, as save_pretrained writes it.",
        )
    if not (path / CONFIG).exists():
        raise LevelfieldError(
            f"{shown(path.name)} has no {CONFIG}, which says how large the network is.",
            fix="Name the folder that save_pretrained wrote, or a snapshot of the hub's cache.",
        )
    config, config_sha256 = _small(path, CONFIG, MOST_CONFIG_BYTES)
    small, wanted = {CONFIG: config_sha256}, dict[str, list[str]]()
    size_bytes = len(config)
    if (path / INDEX).exists() and not (path / SINGLE).exists():
        index, small[INDEX] = _small(path, INDEX, MOST_INDEX_BYTES)
        size_bytes += len(index)
        for name, shard in _placed(index).items():
            wanted.setdefault(shard, []).append(name)
    else:
        _require_safetensors(path)
        wanted[SINGLE] = []  # all that it holds
    tensors: dict[str, tuple[str, Mapped]] = {}
    if len({os.path.realpath(path / shard) for shard in wanted}) < len(wanted):
        raise LevelfieldError(f"{INDEX} names one file several times, by links to it.", fix=_AGAIN)
    for shard, names in wanted.items():
        mapped = _open(path, shard)
        size_bytes += mapped.size_bytes
        for name in names or mapped.tensors:
            if name not in mapped.tensors:
                raise LevelfieldError(f"{INDEX} says that {shard} holds {shown(name)}, and it does not.", fix=_AGAIN)
            tensors[name] = shard, mapped
    return Folder(shown(path.name or path.resolve().name), config, small, size_bytes, tensors)


def _is_folder(path: Path) -> bool:
    try:
        return path.is_dir()
    except OSError:  # a name that is too long for any file
        return False


def shown(text: str) -> str:
    """Return a stranger's text as a message or a record may hold it: short, and of characters that are signs."""
    return printable(text.encode(errors="replace").decode()).replace("\n", " ")[:120]


def _require_safetensors(path: Path) -> None:
    if (path / SINGLE).exists() or (path / SINGLE).is_symlink():
        return
    raise LevelfieldError(
        f"{shown(path.name)} holds neither {SINGLE} nor {INDEX}.",
        fix=f"Save the network there with save_pretrained. Other files are not read, since a pickled one can run any "
        f"program: {_CONVERT}.",
    )


def _placed(index: bytes) -> dict[str, str]:
    """Return the file of each tensor, as an index says it; only files in the folder itself are files of it."""
    with explained(
        f"{INDEX} cannot be read: it has no weight_map of names.",
        _AGAIN,
        msgspec.MsgspecError,
        KeyError,
        UnicodeDecodeError,
        RecursionError,
    ):
        found = msgspec.json.decode(index, type=dict[str, msgspec.Raw])
        placed = msgspec.json.decode(found["weight_map"], type=dict[str, str])
    shards = set(placed.values())
    for shard in sorted(shards):
        if not shard or Path(shard).name != shard or "\\" in shard or "\0" in shard or shard.startswith("."):
            raise LevelfieldError(
                f"{INDEX} names a file outside of the folder, {shown(shard)!r}: only files in the folder are read.",
                fix="Do not use this folder unless you know who wrote it, and why.",
            )
        if not shard.endswith(".safetensors"):
            raise LevelfieldError(
                f"{INDEX} names {shown(shard)}, which is not a safetensors file.",
                fix=f"{_CONVERT[0].upper()}{_CONVERT[1:]}.",
            )
    if not placed or len(shards) > MOST_SHARDS:
        raise LevelfieldError(f"{INDEX} names {len(shards):,} files of tensors.", fix=_AGAIN)
    return placed


def _opened(path: Path, name: str) -> BufferedReader:
    with explained(
        f"{name} of {shown(path.name)} cannot be read", "Put the file itself there, or fetch the folder again."
    ):
        return untrusted.open_plain(path / name, inside=path)


def _small(path: Path, name: str, most_bytes: int) -> tuple[bytes, str]:
    with _opened(path, name) as file:
        content = file.read(most_bytes + 1)
    if len(content) > most_bytes:
        raise LevelfieldError(f"{name} of {shown(path.name)} is longer than {most_bytes:,} bytes.", fix=_AGAIN)
    return content, hashlib.sha256(content).hexdigest()


def _open(path: Path, name: str) -> Mapped:
    """Map a file of tensors."""
    with (
        _opened(path, name) as file,
        explained(f"{name} of {shown(path.name)} is no safetensors file, or a damaged one", _AGAIN, ValueError),
    ):
        return Mapped(file)
