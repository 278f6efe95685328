"""A limit on what a worker writes to this machine's disk: its compile cache and, of an exporter, its files.

And the folders of processes, which are removed once their owner is dead.
"""

import contextlib
import os
import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path

from levelfield import untrusted
from levelfield.machine.engine import is_dead, mark_of

LIMIT_BYTES = 16 << 30
"""Most that one launch may add to its folders; the compile caches of all our models take less than 1 GiB."""
FREE_SHARE = 0.5
"""Largest share of the disk's free space that a launch may use, where little is free."""
CHECK_INTERVAL_S = 2.0
"""How often the disk is checked during the wait for a worker."""


class DiskLimit:
    """What a launch may add to its folders.

    The free space of the disk is read first, in microseconds, and the folders only once that much is gone: other
    processes may have taken it.

    `folders`: those that the worker may write into; they exist. Empty: there is no limit. `limit_bytes`: most that they
    may grow by; less where little is free (`FREE_SHARE`).
    """

    def __init__(self, folders: Sequence[Path], limit_bytes: int = LIMIT_BYTES) -> None:
        self._folders = tuple(folders)
        self._free_bytes = self._free()
        self.allowed_bytes = min(limit_bytes, int(self._free_bytes * FREE_SHARE))
        self._before_bytes = _measured(self._folders)[0]

    def is_exceeded(self) -> bool:
        """Return whether the worker has written more than it may; what it makes unreadable counts as too much."""
        taken_bytes = self._free_bytes - self._free()
        if not self._folders or taken_bytes < self.allowed_bytes:
            return False
        held_bytes, hidden = _measured(self._folders)
        if hidden:
            return True
        written_bytes = held_bytes - self._before_bytes
        # Other processes took the rest: the folders are not walked again for it, which may be during a window.
        self._free_bytes -= max(taken_bytes - written_bytes, 0)
        return written_bytes >= self.allowed_bytes

    def clear(self) -> None:
        """Remove what the folders hold, once the worker has ended: the next one must find space.

        What this process may not remove, since the worker took its rights away, stays.
        """
        for folder in self._folders:
            with contextlib.suppress(OSError):
                for path in list(folder.iterdir()):
                    if path.is_dir() and not path.is_symlink():
                        shutil.rmtree(path, ignore_errors=True)
                    else:
                        path.unlink(missing_ok=True)

    def _free(self) -> int:
        return min((shutil.disk_usage(folder).free for folder in self._folders), default=0)


def _measured(folders: Sequence[Path]) -> tuple[int, bool]:
    """Return the bytes that folders take on the disk, and whether something in them cannot be read."""
    unreadable: list[OSError] = []
    total_bytes = 0
    for folder in folders:
        for parent, _, files in os.walk(folder, onerror=unreadable.append):
            for file in files:
                try:
                    total_bytes += (Path(parent) / file).lstat().st_blocks * 512
                except OSError as error:
                    unreadable.append(error)
    # A compiler may have removed a file meanwhile.
    return total_bytes, any(not isinstance(error, FileNotFoundError) for error in unreadable)


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
            shutil.rmtree(folder, ignore_errors=True)
            removed += 1
    return removed
