"""The folder of a run's compile caches: it goes with the run, or is removed by a later one."""

import shutil
from pathlib import Path

from suite.launchers import owned_folders


def make_folder() -> Path:
    """Return a new folder for the compile caches of a run, in the system's temporary folder."""
    caches = owned_folders.make() / "caches"
    caches.mkdir()
    return caches


def remove(caches: Path) -> None:
    """Remove what `make_folder` returned; safe to call twice."""
    shutil.rmtree(caches.parent, ignore_errors=True)
