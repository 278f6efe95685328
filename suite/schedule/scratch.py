"""The folder of a run's compile caches: it goes with the run, or is removed by a later one."""

from pathlib import Path

from suite.paths import lasting_temporary_folder, remove_temporary


def make_folder() -> Path:
    """Return a new folder for the compile caches of a run, below the cache folder."""
    caches = lasting_temporary_folder("levelfield-run") / "caches"
    caches.mkdir()
    return caches


def remove(caches: Path) -> None:
    """Remove what `make_folder` returned; safe to call twice."""
    remove_temporary(caches.parent)
