"""Build images: from a base, locked wheels and a recipe, with no network; what is already there is reused.

Which variant fits this machine, and what building takes, is known before anything is fetched.
"""

import hashlib
import tomllib
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import docker
import msgspec
from docker.models.images import Image as EngineImage

from levelfield.compatibility import gate, libraries
from levelfield.compatibility.gate import Choice, Nvidia
from levelfield.images import base, catalogue, debian, engine, environments, layer, loading, wheels, worker_code
from levelfield.images.layer import EPOCH
from levelfield.images.wheels import Progress, silent
from levelfield.names import plural
from levelfield.paths import cache_folder, disk_space, file_lock, images_root, temporary_folder
from levelfield.record.references import parse, suffix
from levelfield.record.schema import Image

ENVIRONMENT = "environment.sh"
_WORKER = "worker.toml"


class Recipe(msgspec.Struct, frozen=True):
    """What an image will be made from, and the names that follow from it."""

    lock: catalogue.Lock
    base: base.Base
    recipe_sha256: str
    worker_sha256: str

    @property
    def environment_identity(self) -> str:
        return _digest(self.base.kind, self.base.identity, self.lock.sha256, _file_sha256(ENVIRONMENT), str(EPOCH))

    @property
    def environment_tag(self) -> str:
        return f"levelfield/{self.lock.image}-env:{self.environment_identity[:20]}"

    @property
    def identity(self) -> str:
        return _digest(self.environment_identity, _file_sha256(_WORKER), self.worker_sha256)

    @property
    def tag(self) -> str:
        return f"levelfield/{self.lock.image}:{self.identity[:20]}"

    @property
    def labels(self) -> dict[str, str]:
        return {
            "levelfield.image": self.lock.image,
            "levelfield.variant": catalogue.stem(self.lock.variant, self.lock.version),
            "levelfield.identity": self.identity,
            "levelfield.lock": self.lock.sha256,
            "levelfield.base": self.base.label,
            "levelfield.recipe": self.recipe_sha256,
            "levelfield.worker": self.worker_sha256,
        }

    def environment(self, layers: Sequence[str], size_bytes: int) -> loading.Image:
        """Return the image of the environment, by the digests and the size of its layers."""
        labels = {
            "levelfield.image": f"{self.lock.image}-env",
            engine.IDENTITY: self.environment_identity,
            engine.SIZE: str(size_bytes),
        }
        config = {"Cmd": ["/bin/sh"], "Labels": labels}
        return loading.image(self.environment_tag, layers, architecture=self.lock.architecture.debian, config=config)

    def image(self, layers: Sequence[str], size_bytes: int) -> loading.Image:
        """Return the image that runs, by the digests and the size of its layers."""
        started = tomllib.loads((images_root() / _WORKER).read_text(encoding="utf-8"))
        config: dict[str, Any] = {
            "Entrypoint": started["command"],
            "Env": [f"{name}={value}" for name, value in started["environment"].items()],
            "Labels": {**self.labels, engine.SIZE: str(size_bytes)},
            "User": started["user"],
            "WorkingDir": started["working_folder"],
        }
        return loading.image(self.tag, layers, architecture=self.lock.architecture.debian, config=config)


def recipe(name: str, variant: str = "cpu", version: str | None = None, base_source: base.Source = "debian") -> Recipe:
    """Return what an image is made from; nothing is made or fetched.

    Raises LevelfieldError: there is no such image or lock, or no base with the lock's Python.
    """
    lock = catalogue.lock(name, variant, version)
    return Recipe(
        lock=lock,
        base=base.describe(base.name_for(name, lock.python), base_source),
        recipe_sha256=_digest(_file_sha256(ENVIRONMENT), _file_sha256(_WORKER)),
        worker_sha256=worker_code.digest(worker_code.files(name)),
    )


def _file_sha256(name: str) -> str:
    return hashlib.sha256((images_root() / name).read_bytes()).hexdigest()


def _digest(*parts: str) -> str:
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()


def cuda_variants(image_name: str, version: str | None = None) -> dict[str, str]:
    """Return each CUDA variant of an image with the CUDA release of its lock.

    `version`: version of the framework; None for the current locks. Raises LevelfieldError: there is no such image, or
    a lock is not one of ours.
    """
    releases = {
        variant: libraries.cuda_release(catalogue.lock(image_name, variant, version).versions)
        for variant, name in catalogue.lock_names(image_name)
        if name == version and variant.startswith("cu")
    }
    return {variant: release for variant, release in releases.items() if release is not None}


def choose(
    image_name: str, nvidia: Nvidia, *, version: str | None = None, requested: str | None = None, gpu: int | None = None
) -> Choice:
    """Choose the CUDA variant of an image for this machine, with warnings of versions known to compute wrongly.

    `image_name`, `version`: an image of the catalogue, and a version of its framework; None for the current locks.
    `gpu`: index of the one GPU to use; None: the variant should suit all of them. Returns its variant is None, with the
    reason, where none runs here. Raises LevelfieldError: there is no such image, or no such variant of it.
    """
    rows = gate.read()
    choice = gate.choose(rows, nvidia, cuda_variants(image_name, version), requested=requested, gpu=gpu)
    if choice.variant is None:
        return choice
    versions = libraries.libraries(catalogue.lock(image_name, choice.variant, version).versions)
    rules = libraries.matching(rows, versions, nvidia.chosen(gpu))
    bad = [libraries.sentence(rule, versions) for rule in rules]
    return msgspec.structs.replace(choice, warnings=(*choice.warnings, *bad))


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
    progress(f"installing {plural(len(files), 'wheel')} of {target.lock.label}, no network")
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
BYTECODE = 1.25
"""Installed files with their bytecode, over the files in the wheels."""


class Cost(msgspec.Struct, frozen=True):
    """Downloads, disk and time; all zero when everything is there."""

    download_bytes: int = 0
    disk_bytes: int = 0
    seconds: float = 0.0
    making: tuple[str, ...] = ()
    """Images or environments to be made."""
    unsized: int = 0
    """Wheels to be fetched whose size no lock knows: they are in none of the figures."""

    def sentence(self) -> str:
        if not self.making:
            return "Everything needed is built already."
        if self.unsized:
            more = f"{plural(self.unsized, 'wheel')} whose size is not known"
            figures = f"{_size(self.download_bytes)} to download, and {more}: {CUDA_WORDS}"
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
        # The canary's and the exporters' are last, and for one Python alone: the arms' for another would not help.
        folders = {lock.path: environments.location(lock, environments.find_python(lock)[1]) for lock in locks[::-1]}
        return _cost([lock for lock in locks if not environments.is_complete(folders[lock.path])], {})
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
        # containerd's store keeps a layer as it came, too.
        copies = 2 if absent_recipes and "containerd" in str(client.info().get("DriverStatus")) else 1
    return _cost([each.lock for each in absent_recipes], bases, copies)


def _cost(locks: list[catalogue.Lock], bases: dict[str, base.Base], copies: int = 1) -> Cost:
    absent = {pin.file: pin for lock in locks for pin in wheels.missing(lock)}
    debs = {name: each.lock for name, each in bases.items() if each.lock is not None}
    packages = {package.file: package for name, lock in debs.items() for package in debian.missing(lock, name)}
    base_bytes = sum(package.installed_bytes for name, lock in debs.items() for package in lock.packages_of(name))
    download = sum(pin.size_bytes for pin in absent.values()) + sum(package.size_bytes for package in packages.values())
    installed = sum(lock.installed_bytes for lock in locks)
    seconds = download / _DOWNLOAD_BYTES_S + installed / _INSTALL_BYTES_S + base_bytes / _BASE_BYTES_S
    return Cost(
        download_bytes=download,
        disk_bytes=int(download + copies * (installed * BYTECODE + base_bytes)),
        seconds=seconds + _INSTALL_START_S * len(locks),
        making=tuple(lock.image + suffix(lock.variant, lock.version) for lock in locks),
        unsized=sum(not pin.sized for pin in absent.values()),
    )


def _size(count_bytes: int) -> str:
    return f"{count_bytes / 1e9:.1f} GB" if count_bytes >= 1e9 else f"{count_bytes / 1e6:.0f} MB"
