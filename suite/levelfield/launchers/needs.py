"""Which launcher a run uses, and what it will need of this machine, asked beforehand by `levelfield doctor`."""

import contextlib
import os
from collections.abc import Collection, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import docker
from docker.errors import APIError

from levelfield.backends import registry as backends
from levelfield.errors import LevelfieldError
from levelfield.images import base, build, catalogue, debian, fetching, registries, wheels
from levelfield.images.base import Source
from levelfield.launchers.docker import DockerLauncher, connect, sees
from levelfield.launchers.host import HostLauncher, VenvLauncher
from levelfield.launchers.protocol import Launcher
from levelfield.machine import engine
from levelfield.machine.engine import ENGINE_ERRORS
from levelfield.machine.findings import Finding, bad, ok, warn
from levelfield.paths import allows_programs, cache_path
from levelfield.record.bases import BaseLock, Package
from levelfield.record.references import DEFAULT_VARIANT, parse

ARTIFACTS_BYTES = 2 << 30
"""Weights, inputs, references and model files of a default run, and its report."""
_ANSWER_S = 5.0
_LABEL = "levelfield.image"


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


def findings(names: Collection[str]) -> Iterator[Finding]:
    """Yield whether what is missing can be fetched, and whether workers will see our files."""
    place = next(each for each in (cache_path(), *cache_path().absolute().parents) if each.exists())
    if not os.access(place, os.W_OK | os.X_OK):
        fix = "Set LEVELFIELD_CACHE to a folder that you can write to."
        yield bad("cache", f"{cache_path()} is needed, and {place} may not be written.", fix)
    try:
        client = connect()
    except LevelfieldError:
        yield from _public_indexes(names, names)
        yield from _without_engine()
        return
    with contextlib.closing(client):
        yield from _public_indexes(names, build.estimate(names, "docker").making)
        yield from _debian_packages(client, names)
        if cache_path().is_dir():  # else the first launch tries it: to look makes no folder
            yield from _files(client)


def _without_engine() -> Iterator[Finding]:
    if not allows_programs(cache_path()):
        fix = "Mount it without noexec, or set LEVELFIELD_CACHE to a folder elsewhere."
        yield bad("cache", f"{cache_path()} is on a disk that is mounted noexec, and environments lie there.", fix)


def _public_indexes(names: Collection[str], making: Iterable[str]) -> Iterator[Finding]:
    """Ask for what no default index has (CPU builds of PyTorch) whether it can be fetched: every file once."""
    wanted: dict[tuple[str, str], tuple[catalogue.Pin, catalogue.Lock]] = {}
    needing: dict[tuple[str, str], list[str]] = {}
    for name in making:
        asked_for = parse(name)
        lock = catalogue.lock(asked_for.name, asked_for.variant, asked_for.version)
        for pin in (pin for pin in wheels.missing(lock) if "+" in pin.version):
            wanted.setdefault((pin.name, pin.version), (pin, lock))
            needing.setdefault((pin.name, pin.version), []).append(name)
    public = [index for index in registries.indexes(DEFAULT_VARIANT) if wanted]
    places = registries.Places(tuple(index.url for index in public))
    hosts = ", ".join(dict.fromkeys(fetching.host(index.url) for index in public))
    with ThreadPoolExecutor() as threads:
        asked = {key: threads.submit(wheels.why_not, *pair, places) for key, pair in wanted.items()}
    for key, answer in asked.items():
        what = " ".join(key)
        if not (why := answer.result()):
            yield ok("wheels", f"An index has {what}.")
            continue
        images = ", ".join(needing[key])
        message = f"{what} is on {hosts}, and not to be had here: {why}. It is needed for the images {images}."
        yield warn("wheels", message, f"{_without(names, needing[key])} {registries.WITHOUT}")


def _without(names: Collection[str], absent: Collection[str]) -> str:
    """Say what runs where some images cannot be made."""
    chosen = [info for info in map(backends.get, backends.names()) if info.image in names and info.image not in absent]
    reading = [info.name for info in chosen if info.file_format is not None and info.file_format.image in absent]
    others = [info.name for info in chosen if info.name not in {*reading, backends.CANARY}]
    said = [f"--backends {','.join(others)}"] if others else []
    said += [f"--model FILE.onnx --backends {','.join(reading)}"] if reading else []
    return f"Without it run {'; '.join(said)}." if said else "Nothing runs without it."


def _debian_packages(client: docker.DockerClient, names: Iterable[str]) -> Iterator[Finding]:
    """Check that a package that is missing can be had from somewhere."""
    topic = "Debian packages"
    making = [parse(name).name for name in build.estimate(names, "docker").making]
    for name in sorted({base.name_for(image, catalogue.python_for(image)) for image in making}):
        if base.exists(client, base.describe(name)):
            continue
        lock = debian.lock_of(name)
        absent = debian.missing(lock, name)
        if absent:
            yield _fetchable(lock, absent[0])
            return
    yield ok(topic, "None has to be downloaded.")


def _fetchable(lock: BaseLock, package: Package) -> Finding:
    topic = "Debian packages"
    answers = debian.reachable(lock, package, timeout_s=_ANSWER_S)
    giving = next((host for host, problem in answers.items() if problem is None), None)
    if giving is not None:
        return ok(topic, f"They are not here yet; {giving} has them.")
    says = "; ".join(f"{host}: {problem}" for host, problem in answers.items())
    fix = f"Check the network and its proxy, or name mirrors in {debian.MIRRORS}; or --base registry."
    return bad(topic, f"They are missing, and {package.name} is not to be had ({says}).", fix)


def _files(client: docker.DockerClient) -> Iterator[Finding]:
    """Try with an image that is there whether workers of this engine use folders of this machine."""
    topic = "files"
    for image in client.api.images(filters={"label": _LABEL}):
        if not image["RepoTags"]:
            continue
        try:
            seen = sees(client, image["Id"])
        except (APIError, LevelfieldError) as error:
            fix = "See the engine's log; the first launch of a run would fail alike."
            yield bad(topic, f"A container could not try whether the engine sees our files: {error}.", fix)
            return
        if seen:
            yield ok(topic, "The engine's containers read, write and execute what lies in the cache folder.")
        else:
            fix = (
                "Where copying takes too long, set LEVELFIELD_CACHE to a folder that they can read, write and execute."
            )
            yield warn(topic, "Containers cannot use the cache folder, so files are copied into volumes.", fix)
        return


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
