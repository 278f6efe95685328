"""The base of an image: made here from locked Debian packages, or pulled by digest from a registry."""

import hashlib
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Literal, TypeAlias

import docker
import msgspec
from docker.errors import APIError, ImageNotFound

from suite.errors import LevelfieldError
from suite.images import architectures, catalogue, debian, engine, loading, unpacking
from suite.images.layer import Layer
from suite.images.wheels import Progress, silent
from suite.paths import cache_folder, file_lock, images_root, temporary_folder

Kind: TypeAlias = Literal["debian", "registry"]

_FINISH = "base.sh"


class Base(msgspec.Struct, frozen=True):
    """The identity of a base, whether it is built or not."""

    name: str
    """A name of `suite.images.debian.BASES`, such as `slim`."""
    kind: Kind
    identity: str
    """SHA-256 of its inputs, or the registry's digest."""
    reference: str
    """Name under which the engine knows it."""

    @property
    def label(self) -> str:
        """For records: which base, and its digest."""
        return f"{self.kind} {self.name} {self.identity}"


def name_for(image_name: str, python: str) -> str:
    """Return the name of the base that an image with a Python stands on.

    Parameters
    ----------
    image_name
        An image of the catalogue, which names the kind of base.
    python
        Minor version of Python of its lock, which decides on the Debian release.

    Raises
    ------
    LevelfieldError
        There is no base of this kind with this Python.
    """
    kind = catalogue.image(image_name).base
    release = catalogue.PYTHONS[python]
    name = kind if release == debian.RELEASE else f"{kind}-{release}"
    if name not in debian.BASES:
        raise LevelfieldError(
            f"The image {image_name} stands on the {kind} base, and there is none with Python {python}.",
            fix=f"Leave +python={python} out.",
        )
    return name


def describe(name: str, kind: Kind = "debian") -> Base:
    """Return the identity of a base, without making it.

    Parameters
    ----------
    name
        A name of `suite.images.debian.BASES`.
    kind : {"debian", "registry"}
        Made here from locked Debian packages, or pulled by digest from a registry.

    Raises
    ------
    LevelfieldError
        There is no such base.
    """
    if kind == "registry":
        table = tomllib.loads((images_root() / "base" / "registry.toml").read_text(encoding="utf-8"))
        reference = table[name]["reference"]
        return Base(name=name, kind=kind, identity=reference.partition("@")[2], reference=reference)
    lock = debian.lock_of(name)
    finish = hashlib.sha256((images_root() / _FINISH).read_bytes()).hexdigest()
    identity = hashlib.sha256(f"{debian.digest(lock, name)}\n{unpacking.RULES}\n{finish}".encode()).hexdigest()
    return Base(name=name, kind=kind, identity=identity, reference=f"levelfield/base-{name}:{identity[:20]}")


def exists(client: docker.DockerClient, base: Base) -> bool:
    """Return whether the engine already has the base.

    Parameters
    ----------
    client
        A connected engine.
    base
        A base made from Debian packages must carry its identity as a label; of one from a registry, the digest in its
        reference is enough.
    """
    if base.kind == "debian":
        return engine.find(client, base.reference, base.identity) is not None
    try:
        client.images.get(base.reference)
    except ImageNotFound:
        return False
    return True


def ensure(client: docker.DockerClient, base: Base, *, progress: Progress = silent) -> None:
    """Make or pull the base, unless the engine already has it.

    Parameters
    ----------
    client
        A connected engine, which gets the base.
    base
        What `describe` returned.
    progress : callable
        Called with one short line whenever a step begins.

    Raises
    ------
    LevelfieldError
        A package cannot be fetched, or the registry does not answer.
    """
    if exists(client, base):
        return
    if base.kind == "registry":
        _pull(client, base, progress)
        return
    guard = cache_folder("downloads") / "base.lock"
    with file_lock(guard), temporary_folder("base") as folder:
        if not exists(client, base):  # no other build made it meanwhile
            engine.check_machine(client)
            _load(client, base, folder, progress)


def _load(client: docker.DockerClient, base: Base, folder: Path, progress: Progress) -> None:
    """Give the base to the engine: a layer of its packages, and one of what its own programs make of them."""
    packages, finished = folder / "packages.tar", folder / "finished.tar"
    unpacked = make(base.name, packages, progress=progress)
    raw = _image(base, f"{base.reference}-unfinished", [unpacked])
    loading.load(client, [raw], {unpacked.diff_id: packages}, "")
    try:
        progress(f"compiling the standard library of the {base.name} base")
        script = [("base.sh", images_root() / _FINISH)]
        with (
            engine.container_of(client, raw.tag, script, command=["/bin/sh", "/mnt/base.sh"]) as container,
            finished.open("wb") as out,
        ):
            compiled = engine.layer_of(container, "/out", "", out)
        files = {unpacked.diff_id: packages, compiled.diff_id: finished}
        loading.load(client, [_image(base, base.reference, [unpacked, compiled])], files, "")
    finally:
        client.images.remove(raw.tag)


def _image(base: Base, tag: str, layers: Sequence[Layer]) -> loading.Image:
    size_bytes = sum(layer.size_bytes for layer in layers)
    labels = {
        "levelfield.image": f"base-{base.name}",
        engine.IDENTITY: base.identity,
        engine.SIZE: str(size_bytes),
    }
    architecture = debian.lock_of(base.name).architecture
    config = {"Cmd": ["/bin/sh"], "Labels": labels}
    return loading.image(tag, [layer.diff_id for layer in layers], architecture=architecture, config=config)


def make(name: str, tar: Path, *, progress: Progress = silent) -> Layer:
    """Write the base `name` as a tar archive; the same packages give the same bytes on every machine.

    Raises
    ------
    LevelfieldError
        A package cannot be fetched or unpacked.
    """
    lock = debian.lock_of(name)
    packages = debian.fetch(lock, name, progress=progress)
    progress(f"unpacking {len(packages)} Debian packages of the {name} base")
    with tar.open("wb") as target:
        return unpacking.unpack(packages, lock.epoch, target)


def _pull(client: docker.DockerClient, base: Base, progress: Progress) -> None:
    progress(f"pulling {base.reference}")
    try:
        client.images.pull(base.reference, platform=architectures.current().platform)
    except (APIError, ImageNotFound) as error:
        raise LevelfieldError(
            f"The base {base.reference} cannot be pulled: {error.explanation or error}",
            fix="Check that the engine reaches its registry, or let the base be made here: `--base debian`.",
        ) from error
