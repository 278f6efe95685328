"""The base of an image: made here from locked Debian packages, or pulled by digest from a registry."""

import datetime as dt
import hashlib
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Literal, TypeAlias

import docker
import msgspec
import requests
from docker.errors import APIError, ImageNotFound

from levelfield.errors import LevelfieldError, explained
from levelfield.images import catalogue, debian, engine, fetching, loading, unpacking
from levelfield.images.layer import Layer
from levelfield.images.wheels import Progress, silent
from levelfield.paths import cache_folder, file_lock, images_root, temporary_folder
from levelfield.record.bases import BaseLock, Package
from levelfield.record.schema import Image

Source: TypeAlias = str
"""Where bases come from: `debian`, made here by this checkout's locks; `registry`, pulled; else a folder with locks."""

_FINISH = "base.sh"


class Base(msgspec.Struct, frozen=True):
    """The identity of a base, whether it is built or not."""

    name: str
    """A name of `images.debian.BASES`, such as `slim`."""
    kind: Literal["debian", "registry"]
    identity: str
    """SHA-256 of its inputs, or the registry's digest."""
    reference: str
    """Name under which the engine knows it."""
    lock: BaseLock | None
    """The Debian packages; None: it is pulled."""

    @property
    def label(self) -> str:
        """For records: which base, and its digest."""
        return f"{self.kind} {self.name} {self.identity}"


def name_for(image_name: str, python: str) -> str:
    """Return the name of the base that an image with a Python stands on.

    Raises LevelfieldError: there is no base of this kind with this Python.
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


def describe(name: str, source: Source = "debian") -> Base:
    """Return the identity of a base, by a name of `images.debian.BASES`, without making it.

    Raises LevelfieldError: there is no such base, or no such source.
    """
    if source == "registry":
        table = tomllib.loads((images_root() / "base" / "registry.toml").read_text(encoding="utf-8"))
        reference = table[name]["reference"]
        return Base(name, "registry", reference.partition("@")[2], reference, None)
    lock = debian.lock_of(name, None if source == "debian" else Path(source))
    identity = identity_of(lock, name)
    return Base(name, "debian", identity, f"levelfield/base-{name}:{identity[:20]}", lock)


def identity_of(lock: BaseLock, name: str) -> str:
    """Return the SHA-256 of everything that a base is made from: packages, what is made of them, and how it ends."""
    finish = hashlib.sha256((images_root() / _FINISH).read_bytes()).hexdigest()
    return hashlib.sha256(f"{debian.digest(lock, name)}\n{unpacking.RULES}\n{finish}".encode()).hexdigest()


def recorded(images: Iterable[Image], source: Source) -> dict[str, BaseLock]:
    """Return what the bases of a run's images were made of, by their labels; nothing of one that was pulled."""
    names = {image.base: image.base.split()[1] for image in images if image.base.startswith("debian ")}
    described = {label: describe(name, source) for label, name in sorted(names.items())}
    return {label: each.lock.only(each.name) for label, each in described.items() if each.lock is not None}


def keep(bases: Mapping[str, BaseLock]) -> Source:
    """Return a source with the bases of a record, whose packages are checked against the labels that images have.

    Raises LevelfieldError: the packages do not make the base that a label names: the record contradicts itself, or this
    version makes another base of the same packages.
    """
    content: dict[str, str] = {}
    for label, lock in sorted(bases.items()):
        kind, name, identity = (*label.split(), "", "", "")[:3]
        if kind != "debian" or debian.BASES.get(name) != lock.release or identity_of(lock, name) != identity:
            raise LevelfieldError(
                f"The packages that the report names do not make its base {label[:80]} here.",
                fix="Use the Levelfield that the report was made with, or --base debian for this checkout's own base.",
            )
        content[name] = debian.text(lock)
    folder = cache_folder("bases") / hashlib.sha256("".join(content.values()).encode()).hexdigest()[:20]
    folder.mkdir(exist_ok=True)
    for name, text in content.items():
        (folder / debian.file_name(name)).write_text(text, encoding="utf-8")
    return str(folder)


def exists(client: docker.DockerClient, base: Base) -> bool:
    """Return whether the engine already has the base.

    `base`: a base made from Debian packages must carry its identity as a label; of one from a registry, the digest in
    its reference is enough.
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

    Raises LevelfieldError: a package cannot be fetched, or the registry does not answer.
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
    assert base.lock is not None  # it is not pulled
    unpacked = make(base.lock, base.name, packages, progress=progress)
    raw = _image(base, f"{base.reference}-unfinished", [unpacked])
    loading.load(client, [raw], {unpacked.diff_id: packages}, "")
    try:
        progress(f"compiling the standard library of the {base.name} base")
        script = [("base.sh", images_root() / _FINISH)]
        with (
            engine.container_of(client, raw.tag, script, command=["/bin/sh", "/mnt/base.sh"]) as container,
            finished.open("wb") as out,
        ):
            compiled = engine.layer_of(container, "/tmp/out", "", out)  # noqa: S108  # in the container
        files = {unpacked.diff_id: packages, compiled.diff_id: finished}
        loading.load(client, [_image(base, base.reference, [unpacked, compiled])], files, "")
    finally:
        engine.wait_for_removals()
        client.images.remove(raw.tag)


def _image(base: Base, tag: str, layers: Sequence[Layer]) -> loading.Image:
    size_bytes = sum(layer.size_bytes for layer in layers)
    labels = {"levelfield.image": f"base-{base.name}", engine.IDENTITY: base.identity, engine.SIZE: str(size_bytes)}
    architecture = catalogue.current_architecture().debian
    config = {"Cmd": ["/bin/sh"], "Labels": labels}
    return loading.image(tag, [layer.diff_id for layer in layers], architecture=architecture, config=config)


def make(lock: BaseLock, name: str, tar: Path, *, progress: Progress = silent) -> Layer:
    """Write a base as a tar archive; the same packages give the same bytes on every machine.

    Raises LevelfieldError: a package cannot be fetched or unpacked.
    """
    packages = debian.fetch(lock, name, progress=progress)
    progress(f"unpacking {len(packages)} Debian packages of the {name} base")
    with tar.open("wb") as target:
        return unpacking.unpack(packages, lock.epoch, target)


def _pull(client: docker.DockerClient, base: Base, progress: Progress) -> None:
    progress(f"pulling {base.reference}")
    with explained(
        f"The base {base.reference} cannot be pulled",
        "Check that the engine reaches its registry, or let the base be made here: `--base debian`.",
        APIError,
        ImageNotFound,
    ):
        client.images.pull(base.reference, platform=catalogue.current_architecture().platform)


_THREADS = 8
_TIMEOUT_S = 10.0
_LOST = {fetching.Reason.GONE, fetching.Reason.OTHER, fetching.Reason.PAGE}


class CheckedBase(msgspec.Struct, frozen=True):
    """What was found of the lock of a release's bases."""

    release: str
    architecture: str
    age_days: int
    archived: tuple[str, ...]
    """Packages with versions that no mirror has any more: Debian's archive of all files keeps them."""
    unknown: tuple[str, ...]
    """Those of which no mirror said whether it has them."""


def check(*, progress: Progress = silent) -> tuple[CheckedBase, ...]:
    """Ask mirrors for every package of every base; nothing is fetched."""
    return tuple(_checked(debian.read_lock(release), progress) for release in dict.fromkeys(debian.BASES.values()))


def _checked(lock: BaseLock, progress: Progress) -> CheckedBase:
    progress(f"asking mirrors for the {len(lock.packages)} packages of Debian {lock.release}")
    with fetching.session() as session, ThreadPoolExecutor(_THREADS) as threads:
        given_up: set[str] = set()
        found = tuple(
            zip(
                lock.packages, threads.map(lambda package: _has(package, session, given_up), lock.packages), strict=True
            )
        )
    return CheckedBase(
        release=lock.release,
        architecture=lock.architecture,
        age_days=(dt.datetime.now(dt.UTC) - dt.datetime.fromtimestamp(lock.epoch, dt.UTC)).days,
        archived=tuple(package.title for package, has in found if has is False),
        unknown=tuple(package.title for package, has in found if has is None),
    )


def _has(package: Package, session: requests.Session, given_up: set[str]) -> bool | None:
    """Return whether a mirror has a package; None: some do not say. Hosts that do not answer are given up."""
    known: bool | None = False
    for address in debian.at_mirrors(package):
        if (host := fetching.host(address)) not in given_up:
            problem = fetching.problem(session, address, package.size_bytes, _TIMEOUT_S)
            if problem is None:
                return True
            if problem in _LOST:
                continue
            given_up.add(host)
        known = None
    return known
