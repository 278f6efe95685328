"""Which launcher a run uses, and what it will need of this machine, asked beforehand by `levelfield doctor`."""

import contextlib
import os
from collections.abc import Iterable, Iterator
from pathlib import Path

from levelfield.errors import LevelfieldError
from levelfield.images import build
from levelfield.images.base import Source
from levelfield.launchers.docker import DockerLauncher, connect
from levelfield.launchers.host import HostLauncher, VenvLauncher
from levelfield.launchers.protocol import Launcher
from levelfield.machine import engine
from levelfield.machine.engine import ENGINE_ERRORS
from levelfield.machine.findings import Finding, bad
from levelfield.paths import allows_programs, cache_path

ARTIFACTS_BYTES = 2 << 30
"""Weights, inputs, references and model files of a default run, and its report."""


def folders(names: Iterable[str]) -> dict[Path, int]:
    """Return the folders that a run with these images fills, and by how many bytes: the cache, and the engine's own."""
    cache = cache_path()
    try:
        needed = build.estimate(names, "docker")
    except LevelfieldError:
        with contextlib.suppress(LevelfieldError):
            return {cache: build.estimate(names, "venv").disk_bytes + ARTIFACTS_BYTES, Path(): 0}
        return {cache: ARTIFACTS_BYTES, Path(): 0}
    found = {cache: needed.download_bytes + ARTIFACTS_BYTES, Path(): 0}
    if (root := _data_root()) is not None:
        found[root] = needed.disk_bytes - needed.download_bytes
    return found


def _data_root() -> Path | None:
    """Return the folder in which the engine keeps its images; None where it is not on this machine."""
    with contextlib.suppress(LevelfieldError, *ENGINE_ERRORS), contextlib.closing(connect()) as client:
        folder = Path(str(client.info().get("DockerRootDir") or "/nowhere"))
        with contextlib.suppress(OSError):
            return folder if folder.is_dir() else None
    return None


def findings() -> Iterator[Finding]:
    """Yield what prevents the cache from being used."""
    place = next(each for each in (cache_path(), *cache_path().absolute().parents) if each.exists())
    if not os.access(place, os.W_OK | os.X_OK):
        fix = "Set LEVELFIELD_CACHE to a folder that you can write to."
        yield bad("cache", f"{cache_path()} is needed, and {place} may not be written.", fix)
    try:
        connect().close()
    except LevelfieldError:
        if not allows_programs(cache_path()):
            fix = "Mount it without noexec, or set LEVELFIELD_CACHE to a folder elsewhere."
            yield bad("cache", f"{cache_path()} is on a disk that is mounted noexec, and environments lie there.", fix)


def choose(name: str | None, *, base: Source) -> tuple[Launcher, str]:
    """Return the launcher of that name, or the best one that is available, with the reason for it.

    `name`: `docker`, `venv` or `host`; None: docker where an engine answers, else venv. Returns why no engine could be
    used; empty where the user chose, or an engine answers. Raises LevelfieldError: `docker` was named and no engine
    answers; or docker's own configuration names none.
    """
    if name == "venv":
        return VenvLauncher(), ""
    if name == "host":
        return HostLauncher(), ""
    engine.address()  # a context that is missing is a mistake, and no reason to measure otherwise
    try:
        return DockerLauncher(connect(), base=base), ""
    except LevelfieldError as error:
        if name == "docker":
            raise
        return VenvLauncher(), error.message


def launchers_by_name(names: Iterable[str], launcher: Launcher, *, base: Source) -> dict[str, Launcher]:
    """Return the launchers that arms name, by name: the run's own launcher where it is the same kind.

    `names`: launchers that arms name; empty ones, of arms that use the run's, are ignored. Raises LevelfieldError: as
    in `choose`.
    """
    named = dict.fromkeys(name for name in names if name)
    return {name: launcher if name == launcher.kind else choose(name, base=base)[0] for name in named}
