"""The folder of compile caches: kept for an image and machine, or of one run."""

import contextlib
import shutil
import time
from pathlib import Path

from levelfield.machine.fingerprint import machine_sha256
from levelfield.paths import cache_folder, lasting_temporary_folder, remove_temporary
from levelfield.record.schema import Fingerprint

UNUSED_S = 30 * 86400.0
"""What no run has used for so long is removed."""
_OF_A_RUN = "caches"


def make_folder() -> Path:
    """Return a new folder for the compile caches of one run, below the cache folder."""
    caches = lasting_temporary_folder("levelfield-run") / _OF_A_RUN
    caches.mkdir()
    return caches


def kept_folder(machine: Fingerprint) -> Path:
    """Return the folder of what was compiled on a machine, which later runs find again.

    Runs may use it at the same time: compilers write their files whole.
    """
    root = cache_folder("compiled")
    caches = root / machine_sha256(machine)[:16]
    caches.mkdir(exist_ok=True)
    for unused in root.glob("*/*"):
        with contextlib.suppress(OSError):
            if time.time() - unused.stat().st_mtime > UNUSED_S:
                shutil.rmtree(unused, ignore_errors=True)
    return caches


def remove(caches: Path) -> None:
    """Remove what `make_folder` returned, and leave what is kept; safe to call twice."""
    if caches.name == _OF_A_RUN:
        remove_temporary(caches.parent)
