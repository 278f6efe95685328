"""Temporary folders that belong to a process: those that a killed one left behind are removed by a later one."""

import os
import shutil
import tempfile
from pathlib import Path

from levelfield.machine import owner
from levelfield.safety import untrusted

_PREFIX = "levelfield-run-"
_OWNER = "owner"
"""File in each folder that names the process it belongs to."""
_MARK_BYTES = 4096


def make() -> Path:
    """Return a new folder of this process, in the system's temporary folder."""
    folder = Path(tempfile.mkdtemp(prefix=_PREFIX))
    (folder / _OWNER).write_text(owner.mark_of(os.getpid()), encoding="ascii")
    return folder


def sweep() -> int:
    """Remove the folders of processes that were killed; return how many.

    Only folders of this user are looked at whose owner can be shown to be dead (`machine.owner.is_dead`).
    """
    removed = 0
    for folder in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*"):
        try:
            if folder.is_symlink() or folder.lstat().st_uid != os.getuid():
                continue
            mark = untrusted.read_plain(folder / _OWNER, _MARK_BYTES).decode("ascii")
        except (OSError, UnicodeDecodeError):
            continue  # another run is making or removing it
        if owner.is_dead(mark):
            shutil.rmtree(folder, ignore_errors=True)
            removed += 1
    return removed
