"""Layers of images, written here: the same files give the same bytes on every engine, file system and Python."""

import hashlib
import io
import tarfile
from collections.abc import Iterable
from typing import IO, BinaryIO

import msgspec

_TYPES = {tarfile.REGTYPE, tarfile.LNKTYPE, tarfile.SYMTYPE, tarfile.DIRTYPE}
"""What a layer holds. Devices, pipes and sockets are the engine's to make."""


class Layer(msgspec.Struct, frozen=True):
    """A layer that was written."""

    diff_id: str
    """SHA-256 of its archive, as an image's configuration names it: `sha256:…`."""
    size_bytes: int
    """Of the files in it."""


def canonical(entry: tarfile.TarInfo, newest_s: int) -> tarfile.TarInfo:
    """Return an entry as layers have it: no owner, permissions alone as its mode, not newer than `newest_s`."""
    header = tarfile.TarInfo(entry.name)
    header.type = tarfile.REGTYPE if entry.isreg() else entry.type
    header.linkname = entry.linkname
    header.mode = 0o777 if entry.issym() else entry.mode & 0o7777
    header.mtime = min(int(entry.mtime), newest_s)
    header.size = entry.size if entry.isreg() else 0
    return header


def write(entries: Iterable[tuple[tarfile.TarInfo, IO[bytes] | None]], target: BinaryIO, newest_s: int) -> Layer:
    """Write a layer.

    Entries are written in the order given: callers sort them by name, hard links after their targets. A plain file
    comes with a stream that holds its content from where it stands.

    Raises
    ------
    ValueError
        An entry is neither a file, a link nor a folder.
    """
    hashing = _Hashing(target)
    size_bytes = 0
    # GNU's format: names of any length and byte, and no header that the others need but this one does not.
    with tarfile.open(fileobj=hashing, mode="w", format=tarfile.GNU_FORMAT, encoding="utf-8") as archive:
        for entry, content in entries:
            header = canonical(entry, newest_s)
            if header.type not in _TYPES:
                raise ValueError(f"{entry.name} is neither a file, a link nor a folder")
            archive.addfile(header, content if header.isreg() else None)
            size_bytes += header.size
    return Layer(f"sha256:{hashing.digest.hexdigest()}", size_bytes)


class _Hashing(io.RawIOBase):
    """A stream that hashes what goes through it."""

    def __init__(self, target: BinaryIO) -> None:
        self.digest = hashlib.sha256()
        self._target = target
        self._position = 0

    def writable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._position

    def write(self, content: bytes) -> int:  # type: ignore[override]  # tarfile writes bytes alone
        self.digest.update(content)
        self._position += len(content)
        self._target.write(content)
        return len(content)
