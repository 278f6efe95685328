"""Where things are: the package itself, the data of the images, and the user's cache."""

import contextlib
import errno
import os
from collections.abc import Iterator
from pathlib import Path

from suite.errors import LevelfieldError

CACHE_FOLDERS = ("artifacts", "debs", "downloads", "locks", "venvs", "wheels", "worker")
"""Everything that levelfield keeps in its cache, and all that `levelfield clean` removes from there."""


def package_root() -> Path:
    """Return the folder of the import package `suite`."""
    return Path(__file__).resolve().parent


def images_root() -> Path:
    """Return the folder with recipes and locks: the checkout's `images/`, or the copy that travels with the package.

    Raises
    ------
    LevelfieldError
        Neither is there.
    """
    for folder in (package_root().parent / "images", package_root() / "_images"):
        if (folder / "catalogue.toml").is_file():
            return folder
    raise LevelfieldError(
        "The image recipes are missing from this installation.",
        fix="Install levelfield again, or run it in a checkout.",
    )


def cache_root() -> Path:
    """Return the folder for everything that can be made again, and create it.

    `LEVELFIELD_CACHE` names it; otherwise it is `levelfield` in the XDG cache folder.

    Raises
    ------
    LevelfieldError
        The folder cannot be made or written to.
    """
    chosen = os.environ.get("LEVELFIELD_CACHE")
    xdg = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    root = Path(chosen).expanduser() if chosen else Path(xdg).expanduser() / "levelfield"
    return _writable(root)


def cache_folder(name: str) -> Path:
    """Return the folder `name` (one of `CACHE_FOLDERS`) inside the cache, and create it."""
    if name not in CACHE_FOLDERS:
        raise ValueError(f"{name} would never be cleaned: add it to CACHE_FOLDERS.")
    return _writable(cache_root() / name)


@contextlib.contextmanager
def disk_space() -> Iterator[None]:
    """Turn a full disk into a sentence."""
    try:
        yield
    except OSError as error:
        if error.errno not in {errno.ENOSPC, errno.EDQUOT}:
            raise
        raise LevelfieldError(
            f"The disk is full ({error.filename or cache_root()}).",
            fix="`levelfield clean` gives back what can be made again; LEVELFIELD_CACHE names another place.",
        ) from error


def _writable(folder: Path) -> Path:
    fix = "Set LEVELFIELD_CACHE to a folder that you can write to."
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise LevelfieldError(f"The cache folder {folder} cannot be made: {error.strerror}.", fix=fix) from error
    if not os.access(folder, os.W_OK | os.X_OK):
        raise LevelfieldError(f"The cache folder {folder} is not writable.", fix=fix)
    return folder.resolve()
