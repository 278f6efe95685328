"""The files of a base by their paths: an index in memory, and all contents in one file on disk."""

import io
import os
import posixpath
import tarfile
import threading
from collections.abc import Iterator
from typing import IO, BinaryIO

import msgspec

from levelfield.errors import LevelfieldError
from levelfield.images import layer

_CHUNK_BYTES = 1 << 20


class Spool:
    """Contents of files, one after another in a file; several threads may add to it."""

    def __init__(self, file: BinaryIO) -> None:
        self.file = file
        self._end = 0
        self._lock = threading.Lock()

    def put(self, content: IO[bytes], size_bytes: int) -> int:
        """Add as many bytes of a stream, and return where they begin."""
        with self._lock:
            start, self._end = self._end, self._end + size_bytes
        at = start
        while at < start + size_bytes:
            chunk = content.read(min(_CHUNK_BYTES, start + size_bytes - at))
            if not chunk:
                raise ValueError("a package ends within one of its files")
            at += os.pwrite(self.file.fileno(), chunk, at)
        return start


class Entry(msgspec.Struct, frozen=True):
    """A file, link or folder."""

    header: tarfile.TarInfo
    start: int = 0
    """Of a plain file: where its content begins in the spool."""


class Tree:
    """A file system that is being put together. Paths are relative to its root: `usr/bin/python3`."""

    def __init__(self, spool: Spool, newest_s: int) -> None:
        self._spool = spool
        self._newest_s = newest_s
        self.entries: dict[str, Entry] = {}

    def __contains__(self, path: str) -> bool:
        return path in self.entries

    def below(self, folder: str) -> list[str]:
        """Return the paths of all that is in a folder, sorted."""
        return sorted(path for path in self.entries if path.startswith(f"{folder}/"))

    def read(self, path: str) -> bytes:
        """Return a plain file's content."""
        entry = self.entries[path]
        return os.pread(self._spool.file.fileno(), entry.header.size, entry.start)

    def file(self, path: str, content: bytes, mode: int = 0o644) -> None:
        header = self._header(path, tarfile.REGTYPE, mode)
        header.size = len(content)
        self.entries[path] = Entry(header, self._spool.put(io.BytesIO(content), len(content)))

    def link(self, path: str, target: str) -> None:
        header = self._header(path, tarfile.SYMTYPE, 0o777)
        header.linkname = target
        self.entries[path] = Entry(header)

    def folder(self, path: str, mode: int = 0o755) -> None:
        self.entries[path] = Entry(self._header(path, tarfile.DIRTYPE, mode))

    def write(self, target: BinaryIO) -> layer.Layer:
        """Write everything as one layer: sorted by path, folders that nobody named added, hard links at the end."""
        for parent in {parent for path in self.entries for parent in _parents(path)}:
            if parent not in self.entries:
                self.folder(parent)
            if not self.entries[parent].header.isdir():
                raise LevelfieldError(
                    f"A package of the base holds files below {parent}, which is no folder.",
                    fix="Report it with the lock.",
                )
        return layer.write(self._sorted(), target, self._newest_s)

    def _sorted(self) -> Iterator[tuple[tarfile.TarInfo, IO[bytes] | None]]:
        for path in sorted(self.entries, key=lambda path: (self.entries[path].header.islnk(), path)):
            entry = self.entries[path]
            self._spool.file.seek(entry.start)
            yield entry.header, self._spool.file

    def _header(self, path: str, kind: bytes, mode: int) -> tarfile.TarInfo:
        header = tarfile.TarInfo(path)
        header.type, header.mode, header.mtime = kind, mode, self._newest_s
        return header


def _parents(path: str) -> Iterator[str]:
    while path := posixpath.dirname(path):
        yield path
