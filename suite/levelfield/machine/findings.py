"""Findings of `levelfield doctor`, each with its fix."""

import os
from pathlib import Path
from typing import Literal, TypeAlias

import msgspec

from levelfield.errors import LevelfieldError

State: TypeAlias = Literal["ok", "warn", "bad"]

_BYTES_OF_A_FILE = 50_000
"""Installed frameworks have 20 to 70 kB a file."""


class Finding(msgspec.Struct, frozen=True):
    """Result of one check.

    `bad`: nothing can be run like this. `warn`: it runs, with less than there could be. `ok`: nothing to do.
    """

    topic: str
    state: State
    message: str
    fix: str = ""
    """What to do about it; empty only where nothing has to be done."""


def ok(topic: str, message: str) -> Finding:
    """Return a finding that needs no action."""
    return Finding(topic, "ok", message)


def warn(topic: str, message: str, fix: str) -> Finding:
    """Return a finding of something that limits a run but does not prevent it."""
    return Finding(topic, "warn", message, fix)


def bad(topic: str, message: str, fix: str) -> Finding:
    """Return a finding of something that prevents a run."""
    return Finding(topic, "bad", message, fix)


def check(topic: str, message: str, fix: str, *, passed: bool) -> Finding:
    """Return a finding that is `ok` or a warning."""
    return ok(topic, message) if passed else warn(topic, message, fix)


class Needs(msgspec.Struct, frozen=True):
    """What a run needs of a machine. The defaults are estimates; callers that know the locks give exact values."""

    python: str = "3.11"
    """Minor version that most locks are for."""
    wheels_missing_bytes: int | None = None
    """What has yet to be downloaded; None: not known, 0: every wheel is in the cache."""
    memory_bytes: int = 4 << 30
    """The largest worker (training a ResNet-50 or BERT) takes about 3 GB."""
    folders: dict[Path, int] = msgspec.field(default_factory=lambda: {Path(): 12 << 30})
    """Folders that get filled, and by how many bytes: the cache, the engine's, the reports."""


def gibibytes(value_bytes: float) -> str:
    return f"{value_bytes / 2**30:.1f} GiB"


def disk(folder: Path, needed_bytes: int) -> Finding:
    """Check that a disk has the space and the inodes that a run needs, and may be written."""
    topic = "disk"
    fix = "Free some: levelfield images clean removes images and caches; or set LEVELFIELD_CACHE to another disk."
    there = os.statvfs(folder)
    free_bytes = there.f_bavail * there.f_frsize
    message = f"{gibibytes(free_bytes)} free at {folder}; what is still to be made takes {gibibytes(needed_bytes)}"
    if there.f_flag & os.ST_RDONLY:
        return bad(topic, f"{folder} is on a disk that is mounted read-only.", "Set LEVELFIELD_CACHE to another disk.")
    if free_bytes < needed_bytes:
        return bad(topic, f"{message}.", fix)
    if there.f_files and there.f_favail < needed_bytes / _BYTES_OF_A_FILE:
        return bad(topic, f"{message}, and only {there.f_favail} inodes are free (`df -i`).", fix)
    return ok(topic, f"{message}.")


def check_space(what: str, folder: Path, size_bytes: int) -> None:
    """Raise LevelfieldError where a disk has no room for a copy, and for what is compiled of it, which may be as large.

    `what`: the file. `folder`: an existing one, which will hold the copy.
    """
    found = disk(folder, 2 * size_bytes)
    if found.state == "bad":
        raise LevelfieldError(f"{what} cannot be copied: {found.message[0].lower()}{found.message[1:]}", fix=found.fix)
