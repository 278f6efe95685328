"""A limit on what a worker writes to this machine's disk: its compile cache and, of an exporter, its files.

And the folders of processes, which are removed once their owner is dead.
"""

import contextlib
import os
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from levelfield import untrusted
from levelfield.machine.engine import is_dead, mark_of
from levelfield.paths import remove_tree

LIMIT_BYTES = 16 << 30
"""Most that one launch may add to its folders; the compile caches of all our models take less than 1 GiB."""
LIMIT_FILES = 200_000
"""Most files and folders that it may add; those caches hold some thousands."""
FREE_SHARE = 0.5
"""Largest share of what is free on the disk that a launch may use, where little is."""
CHECK_INTERVAL_S = 2.0
"""How often the disk is checked during the wait for a worker."""


class _Use(NamedTuple):
    """What is held, taken or free on a disk."""

    size_bytes: int
    files: int

    def less(self, other: "_Use") -> "_Use":
        return _Use(self.size_bytes - other.size_bytes, self.files - other.files)

    def reaches(self, limit: "_Use") -> bool:
        return self.size_bytes >= limit.size_bytes or self.files >= limit.files > 0


class DiskLimit:
    """What a launch may add to its folders.

    What the disk has free is read first, in microseconds, and the folders only once that much is gone: other processes
    may have taken it.

    `folders`: those that the worker may write into; they exist. Empty: there is no limit. `limit_bytes`, `limit_files`:
    most that they may grow by; less where little is free (`FREE_SHARE`).
    """

    def __init__(self, folders: Sequence[Path], limit_bytes: int = LIMIT_BYTES, limit_files: int = LIMIT_FILES) -> None:
        self._folders = tuple(folders)
        self._free = self._left()
        self.allowed_bytes = min(limit_bytes, int(self._free.size_bytes * FREE_SHARE))
        self.allowed_files = min(limit_files, int(self._free.files * FREE_SHARE))
        self._allowed = _Use(self.allowed_bytes, self.allowed_files)
        self._before = _measured(self._folders)[0]

    def is_exceeded(self) -> bool:
        """Return whether the worker has written more than it may; what it makes unreadable counts as too much."""
        taken = self._free.less(self._left())
        if not self._folders or not taken.reaches(self._allowed):
            return False
        held, hidden = _measured(self._folders)
        if hidden:
            return True
        written = held.less(self._before)
        # Other processes took the rest: the folders are not walked again for it, which may be during a window.
        self._free = self._free.less(_Use(*(max(each, 0) for each in taken.less(written))))
        return written.reaches(self._allowed)

    def clear(self) -> None:
        """Remove what the folders hold, once the worker has ended: the next one must find space.

        What this process may not remove, since the worker took its rights away, stays.
        """
        for folder in self._folders:
            with contextlib.suppress(OSError):
                for path in list(folder.iterdir()):
                    if path.is_dir() and not path.is_symlink():
                        remove_tree(path)
                    else:
                        path.unlink(missing_ok=True)

    def _left(self) -> _Use:
        disks = [os.statvfs(folder) for folder in self._folders]
        sizes = (disk.f_bavail * disk.f_frsize for disk in disks)
        return _Use(min(sizes, default=0), min((disk.f_favail for disk in disks), default=0))


def _measured(folders: Sequence[Path]) -> tuple[_Use, bool]:
    """Return what folders hold on the disk, and whether something in them cannot be read."""
    unreadable: list[OSError] = []
    total_bytes = files = 0
    left = list(map(str, folders))
    while left:
        try:
            with os.scandir(left.pop()) as found:
                for each in found:
                    files += 1
                    if each.is_dir(follow_symlinks=False):
                        left.append(each.path)
                    total_bytes += each.stat(follow_symlinks=False).st_blocks * 512
        except OSError as error:
            unreadable.append(error)
    # A compiler may have removed a file meanwhile.
    hidden = any(not isinstance(error, FileNotFoundError) for error in unreadable)
    return _Use(total_bytes, files), hidden


_PREFIX = "levelfield-run-"
_OWNER = "owner"
"""File in each folder that names the process it belongs to."""
_MARK_BYTES = 4096


def make() -> Path:
    """Return a new folder of this process, in the system's temporary folder."""
    folder = Path(tempfile.mkdtemp(prefix=_PREFIX))
    (folder / _OWNER).write_text(mark_of(os.getpid()), encoding="ascii")
    return folder


def sweep() -> int:
    """Remove the folders of processes that were killed; return how many.

    Only folders of this user are looked at whose owner can be shown to be dead (`machine.engine.is_dead`).
    """
    removed = 0
    for folder in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*"):
        try:
            if folder.is_symlink() or folder.lstat().st_uid != os.getuid():
                continue
            mark = untrusted.read_plain(folder / _OWNER, _MARK_BYTES).decode("ascii")
        except (OSError, UnicodeDecodeError):
            continue  # another run is making or removing it
        if is_dead(mark):
            remove_tree(folder)
            removed += 1
    return removed
