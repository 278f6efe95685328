"""Tar archives that are the same whenever they hold the same: order, times, owners and modes are fixed."""

import io
import tarfile
from collections.abc import Iterable
from pathlib import Path, PurePosixPath
from typing import IO, BinaryIO

EPOCH = 1_767_225_600
"""The time that every file of ours gets: the first second of 2026."""


def write(stream: BinaryIO, files: Iterable[tuple[str, Path | bytes]]) -> None:
    """Write files into a tar archive."""
    contents = dict(files)
    folders = {str(parent) for name in contents for parent in PurePosixPath(name).parents if str(parent) != "."}
    with tarfile.open(fileobj=stream, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for name in sorted(folders | contents.keys()):
            if name in folders:
                entry = tarfile.TarInfo(name)
                entry.mtime, entry.type, entry.mode = EPOCH, tarfile.DIRTYPE, 0o755
                archive.addfile(entry)
                continue
            content = contents[name]
            with io.BytesIO(content) if isinstance(content, bytes) else content.open("rb") as source:
                add_file(archive, name, source)
    stream.truncate(archive.offset)  # podman fails where more than two blocks of zeros follow


def add_file(archive: tarfile.TarFile, name: str, source: BinaryIO | IO[bytes]) -> None:
    """Add a file with fixed times, owner and mode to an archive."""
    entry = tarfile.TarInfo(name)
    entry.mtime, entry.mode, entry.size = EPOCH, 0o644, source.seek(0, io.SEEK_END)
    source.seek(0)
    archive.addfile(entry, source)
