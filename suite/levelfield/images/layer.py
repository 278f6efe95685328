"""Layers of images, written here: the same files give the same bytes on every engine, file system and Python.

Engines write other headers for the same files (modes with and without the type of the file, names of owners or none),
so that no digest of theirs says whether two images hold the same.
"""

import hashlib
import io
import tarfile
from collections.abc import Iterable, Mapping
from pathlib import PurePosixPath
from typing import IO, BinaryIO

import msgspec

EPOCH = 1_767_225_600
"""The time that every file of ours gets: the first second of 2026."""


def add_file(archive: tarfile.TarFile, name: str, source: BinaryIO | IO[bytes]) -> None:
    """Add a file with fixed times, owner and mode to an archive."""
    entry = tarfile.TarInfo(name)
    entry.mtime, entry.mode, entry.size = EPOCH, 0o644, source.seek(0, io.SEEK_END)
    source.seek(0)
    archive.addfile(entry, source)


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

    Raises ValueError: an entry is neither a file, a link nor a folder.
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
            archive.members = []  # type: ignore[attr-defined]  # tens of thousands are not kept in memory
            size_bytes += header.size
    return Layer(f"sha256:{hashing.digest.hexdigest()}", size_bytes)


def of_files(contents: Mapping[str, bytes], target: BinaryIO) -> Layer:
    """Write a layer of files with their content, by path below the root; folders are added by themselves."""
    entries: dict[str, tuple[tarfile.TarInfo, IO[bytes] | None]] = {
        name: (_folder(name), None) for name in _above(contents)
    }
    for name, content in contents.items():
        entry = tarfile.TarInfo(name)
        entry.mtime, entry.size = EPOCH, len(content)
        entries[name] = entry, io.BytesIO(content)
    return write([entries[name] for name in sorted(entries)], target, EPOCH)


def of_folder(archive: BinaryIO, at: str, target: BinaryIO) -> Layer:
    """Write a layer of a container's folder; every time in it is the same.

    `at`: where the folder's content lies in the layer, by path below the root; empty: at the root.
    """
    entries = {name: _folder(name) for name in (_above([f"{at}/file"]) if at else ())}
    with tarfile.open(fileobj=archive, mode="r:") as source:
        for entry in source.getmembers():
            entry.name, entry.mtime = _moved(entry.name, at), EPOCH
            if entry.islnk():
                entry.linkname = _moved(entry.linkname, at)
            if entry.name:
                entries[entry.name] = entry
        ordered = sorted(entries.values(), key=lambda entry: (entry.islnk(), entry.name))
        return write(
            ((entry, source.extractfile(entry) if entry.isreg() else None) for entry in ordered), target, EPOCH
        )


def _moved(name: str, at: str) -> str:
    """Return a name with `at` in place of its first part."""
    return "/".join(part for part in (at, name.rstrip("/").partition("/")[2]) if part)


def _above(names: Iterable[str]) -> set[str]:
    return {str(parent) for name in names for parent in PurePosixPath(name).parents} - {"."}


def _folder(name: str) -> tarfile.TarInfo:
    entry = tarfile.TarInfo(name)
    entry.type, entry.mode, entry.mtime = tarfile.DIRTYPE, 0o755, EPOCH
    return entry


class _Hashing(io.RawIOBase):
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
