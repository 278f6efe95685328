"""Tar archives that are the same whenever they hold the same: order, times, owners and modes are fixed."""

import io
import tarfile
from collections.abc import Iterable
from pathlib import Path, PurePosixPath
from typing import BinaryIO

EPOCH = 1_767_225_600
"""The time that every file of ours gets: the first second of 2026."""


def write(stream: BinaryIO, files: Iterable[tuple[str, Path | bytes]]) -> None:
    """Write files into a tar archive.

    Parameters
    ----------
    stream : file
        Where to.
    files : iterable of (str, Path or bytes)
        Name inside the archive and content; folders are added by themselves.
    """
    contents = dict(files)
    folders = {str(parent) for name in contents for parent in PurePosixPath(name).parents if str(parent) != "."}
    with tarfile.open(fileobj=stream, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for name in sorted(folders | contents.keys()):
            entry = tarfile.TarInfo(name)
            entry.mtime = EPOCH
            if name in folders:
                entry.type, entry.mode = tarfile.DIRTYPE, 0o755
                archive.addfile(entry)
                continue
            entry.mode = 0o644
            content = contents[name]
            if isinstance(content, bytes):
                entry.size = len(content)
                archive.addfile(entry, io.BytesIO(content))
            else:
                entry.size = content.stat().st_size
                with content.open("rb") as source:
                    archive.addfile(entry, source)
