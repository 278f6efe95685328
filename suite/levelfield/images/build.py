"""Build images: from a base, locked wheels and a recipe, with no network; what is already there is reused."""

import os
from collections.abc import Iterable
from pathlib import Path

import docker
import msgspec
from docker.models.images import Image as EngineImage

from levelfield.images import base, catalogue, debian, engine, environments, layer, loading, wheels, worker_code
from levelfield.images.recipe import ENVIRONMENT, Recipe, recipe
from levelfield.images.wheels import Progress, silent
from levelfield.paths import cache_folder, disk_space, file_lock, images_root, temporary_folder
from levelfield.record.references import parse, suffix
from levelfield.record.schema import Image

_INSTALLED = "/opt/levelfield/env"


def build(
    name: str,
    variant: str = "cpu",
    version: str | None = None,
    *,
    base_source: base.Source = "debian",
    use_cache: bool = True,
    progress: Progress = silent,
) -> Image:
    """Return an image as a run's record describes it, built if the engine does not have it.

    Raises LevelfieldError: no engine answers, a wheel is wrong or missing, the base cannot be made, or a step of the
    recipe failed.
    """
    target = recipe(name, variant, version, base_source)
    with engine.connect() as client, disk_space():
        image = engine.find(client, target.tag, target.identity) if use_cache else None
        if image is None:
            image = _made(client, target, use_cache=use_cache, progress=progress)
    layers, size_bytes = engine.layers(image), engine.size_bytes(image)
    return Image(
        name=name,
        variant=catalogue.stem(variant, version),
        launcher="docker",
        tag=target.tag,
        image_id=target.image(layers, size_bytes).image_id,
        layers=layers,
        lock_sha256=target.lock.sha256,
        base=target.base.label,
        recipe_sha256=target.recipe_sha256,
        worker_sha256=target.worker_sha256,
        plugins=worker_code.distributions(name),
        architecture=target.lock.architecture.name,
        size_bytes=size_bytes,
    )


def _made(client: docker.DockerClient, target: Recipe, *, use_cache: bool, progress: Progress) -> EngineImage:
    """Build an image while other builds on the same environment wait."""
    guard = cache_folder("downloads") / f"{target.lock.image}-{target.environment_identity[:20]}.lock"
    with file_lock(guard, waiting=lambda: progress(f"waiting for another build of {target.lock.label}")):
        image = engine.find(client, target.tag, target.identity) if use_cache else None
        if image is None:  # no other process has built it meanwhile
            engine.sweep(client)
            with temporary_folder("building") as folder:
                _load(client, target, folder, use_cache=use_cache, progress=progress)
            image = client.images.get(target.tag)
        return image


def _load(client: docker.DockerClient, target: Recipe, folder: Path, *, use_cache: bool, progress: Progress) -> None:
    """Write the layers that the engine lacks into a folder, and load them as an environment and the image on it."""
    images, files = [], {}
    environment = engine.find(client, target.environment_tag, target.environment_identity) if use_cache else None
    if environment is not None:
        below, layers, size_bytes = target.environment_tag, engine.layers(environment), engine.size_bytes(environment)
    else:
        installed = _install(client, target, folder / "environment.tar", progress)
        files[installed.diff_id] = folder / "environment.tar"
        ground = client.images.get(target.base.reference)
        below, layers = target.base.reference, (*engine.layers(ground), installed.diff_id)
        size_bytes = engine.size_bytes(ground) + installed.size_bytes
        images.append(target.environment(layers, size_bytes))
    with (folder / "worker.tar").open("wb") as stream:
        contents = worker_code.files(target.lock.image)
        worker = layer.of_files(
            {f"opt/levelfield/worker/{name}": content for name, content in contents.items()}, stream
        )
    files[worker.diff_id] = folder / "worker.tar"
    images.append(target.image((*layers, worker.diff_id), size_bytes + worker.size_bytes))
    progress(f"loading the image of {target.lock.label}")
    loading.load(client, images, files, below)


def _install(client: docker.DockerClient, target: Recipe, tar: Path, progress: Progress) -> layer.Layer:
    """Install the wheels in a container of the base, and write what was installed as a layer."""
    engine.check_machine(client)
    files = wheels.fetch(target.lock, progress=progress)
    base.ensure(client, target.base, progress=progress)
    progress(f"installing {len(files)} wheels of {target.lock.label}, no network")
    inputs = [
        ("inputs/environment.sh", images_root() / ENVIRONMENT),
        ("inputs/requirements.lock", target.lock.path),
        *((f"inputs/wheels/{file.name}", file) for file in files),
    ]
    command = ["/bin/sh", "/mnt/inputs/environment.sh"]
    with (
        engine.container_of(client, target.base.reference, inputs, command=command) as container,
        tar.open("wb") as out,
    ):
        return engine.layer_of(container, _INSTALLED, _INSTALLED.lstrip("/"), out)


# Rough figures from a 2-core machine; they only have to tell a minute from an hour.
_DOWNLOAD_BYTES_S = 10e6
_INSTALL_BYTES_S = 15e6
_INSTALL_START_S = 8.0
_BASE_BYTES_S = 15e6
CUDA_WORDS = "a CUDA variant takes 2 to 4 GB of download and two to three times that of disk"
_BYTECODE = 1.25
"""Installed files with their bytecode, over the files in the wheels."""


class Cost(msgspec.Struct, frozen=True):
    """Downloads, disk and time; all zero when everything is there."""

    download_bytes: int = 0
    disk_bytes: int = 0
    seconds: float = 0.0
    making: tuple[str, ...] = ()
    """Images or environments to be made."""
    unsized: int = 0
    """Wheels to be fetched of unknown size: they are in none of the figures."""

    def sentence(self) -> str:
        """Return it as a sentence for people."""
        if not self.making:
            return "Everything needed is built already."
        if self.unsized:
            figures = (
                f"{_size(self.download_bytes)} to download, and {self.unsized} wheels of unknown size: {CUDA_WORDS}"
            )
        else:
            minutes = max(1, round(self.seconds / 60))
            figures = f"about {_size(self.download_bytes)} to download, {_size(self.disk_bytes)} of disk, {minutes} min"
        made = f"To be made first: {', '.join(self.making)} ({figures})"
        return f"{made}; `levelfield images clean` deletes images and caches."


def estimate(names: Iterable[str], launcher: str = "docker", base_source: base.Source = "debian") -> Cost:
    """Estimate what is still to be made for some images.

    Raises LevelfieldError: a name is unknown, no engine answers, or no interpreter for environments is here.
    """
    chosen = tuple(parse(name) for name in dict.fromkeys(names))
    found = [catalogue.lock(each.name, each.variant, each.version) for each in chosen]
    locks = list({each.path: each for each in found}.values())  # a version may be the current one
    if launcher == "venv":
        absent = [lock for lock in locks if not _environment_is_complete(lock)]
        return _cost(absent, {})
    with engine.connect() as client:
        recipes = [recipe(each.image, each.variant, each.version, base_source) for each in locks]
        absent_recipes = [
            each for each in recipes if not engine.find(client, each.environment_tag, each.environment_identity)
        ]
        bases = {
            each.base.name: each.base
            for each in absent_recipes
            if each.base.lock is not None and not base.exists(client, each.base)
        }
    return _cost([each.lock for each in absent_recipes], bases)


def _cost(locks: list[catalogue.Lock], bases: dict[str, base.Base]) -> Cost:
    absent = {pin.file: pin for lock in locks for pin in wheels.missing(lock)}
    debs = {name: each.lock for name, each in bases.items() if each.lock is not None}
    packages = {package.file: package for name, lock in debs.items() for package in debian.missing(lock, name)}
    base_bytes = sum(package.installed_bytes for name, lock in debs.items() for package in lock.packages_of(name))
    download = sum(pin.size_bytes for pin in absent.values()) + sum(package.size_bytes for package in packages.values())
    installed = sum(lock.installed_bytes for lock in locks)
    seconds = download / _DOWNLOAD_BYTES_S + installed / _INSTALL_BYTES_S + base_bytes / _BASE_BYTES_S
    return Cost(
        download_bytes=download,
        disk_bytes=int(download + installed * _BYTECODE + base_bytes),
        seconds=seconds + _INSTALL_START_S * len(locks),
        making=tuple(lock.image + suffix(lock.variant, lock.version) for lock in locks),
        unsized=sum(not pin.sized for pin in absent.values()),
    )


def _environment_is_complete(lock: catalogue.Lock) -> bool:
    _, python_version = environments.find_python(lock)
    return environments.is_complete(environments.location(lock, python_version))


def _size(count_bytes: int) -> str:
    return f"{count_bytes / 1e9:.1f} GB" if count_bytes >= 1e9 else f"{count_bytes / 1e6:.0f} MB"


def disk_usage(folder: Path) -> int:
    """Return the bytes that a folder's files take on disk (hard links once)."""
    seen: dict[tuple[int, int], int] = {}
    for parent, _, files in os.walk(folder):
        for file in files:
            status = (Path(parent) / file).lstat()
            seen[status.st_dev, status.st_ino] = status.st_blocks * 512
    return sum(seen.values())
