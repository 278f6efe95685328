"""The base of an image: made here from locked Debian packages, or pulled by digest from a registry."""

import hashlib
import os
import shutil
import subprocess
import tempfile
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Literal, TypeAlias

import docker
import msgspec
from docker.errors import APIError, ImageNotFound

from suite.errors import LevelfieldError
from suite.images import architectures, catalogue, debian, engine, loading
from suite.images.layer import Layer
from suite.images.wheels import Progress, digest, silent
from suite.paths import cache_folder, file_lock, images_root, temporary_folder

Kind: TypeAlias = Literal["debian", "registry"]

_FINISH = "base.sh"
_INHERITED = ("PATH", "HOME", "TMPDIR")
"""What making a base takes from the user's environment: the rest could change its bytes."""


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


def _options(architecture: str) -> tuple[str, ...]:
    """Return how mmdebstrap is called for an architecture, by Debian's name; part of a base's identity."""
    return (
        "--variant=minbase",
        "--format=tar",
        f"--architectures={architecture}",
        # Documents and translations are not needed to measure; licences stay.
        "--dpkgopt=path-exclude=/usr/share/doc/*",
        "--dpkgopt=path-include=/usr/share/doc/*/copyright",
        "--dpkgopt=path-exclude=/usr/share/man/*",
        "--dpkgopt=path-exclude=/usr/share/info/*",
        "--dpkgopt=path-exclude=/usr/share/locale/*",
        # What would tell this machine from another.
        '--customize-hook=rm -rf "$1"/etc/apt/sources.list "$1"/etc/apt/sources.list.d/*',
        '--customize-hook=rm -f "$1"/etc/resolv.conf "$1"/etc/hostname "$1"/etc/apt/apt.conf.d/99mmdebstrap',
    )


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
    made_of = [debian.digest(lock, name), *debian.package_names(name), *_options(lock.architecture)]
    identity = hashlib.sha256("\n".join(made_of).encode()).hexdigest()
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
        A package or mmdebstrap is missing, or the registry does not answer.
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


def make(name: str, tar: Path, *, progress: Progress = silent) -> None:
    """Write the base `name` as a tar archive; the same packages give the same bytes.

    Parameters
    ----------
    name
        A name of `suite.images.debian.BASES`.
    tar
        The file to write.
    progress : callable
        Called with one short line whenever a step begins.

    Raises
    ------
    LevelfieldError
        mmdebstrap is missing or fails, or a package cannot be fetched.
    """
    if shutil.which("mmdebstrap") is None:
        raise LevelfieldError(
            "The base image is made with mmdebstrap, which is not installed.",
            fix="Run `apt-get install mmdebstrap`, or use a ready base: `--base registry`.",
        )
    lock = debian.lock_of(name)
    packages = debian.fetch(lock, name, progress=progress)
    progress(f"making the {name} base from {len(packages)} Debian packages")
    # Not in the user's cache: mmdebstrap may read it as another user.
    with tempfile.TemporaryDirectory(prefix="levelfield-debs-") as folder:
        repository = Path(folder)
        repository.chmod(0o755)
        _repository(repository, packages, lock)
        source = f"deb [trusted=yes] copy:{repository} ./"
        command = [
            "mmdebstrap",
            "--quiet",
            *_options(lock.architecture),
            f"--include={','.join(debian.package_names(name))}",
        ]
        command += [lock.release, str(tar), source]
        environment = {name: os.environ[name] for name in _INHERITED if name in os.environ} | {
            "SOURCE_DATE_EPOCH": str(lock.epoch),
            "LC_ALL": "C.UTF-8",
            "PYTHONDONTWRITEBYTECODE": "1",  # else what packages run on being installed leaves bytecode
        }
        result = subprocess.run(
            command, capture_output=True, text=True, check=False, env=environment, stdin=subprocess.DEVNULL
        )
    if result.returncode:
        lines = [line for line in result.stderr.splitlines() if line.startswith(("E:", "dpkg:"))]
        raise LevelfieldError(
            f"mmdebstrap could not make the {name} base: {lines[0] if lines else result.stderr.strip()[-300:]}",
            fix="Run as root; or install uidmap and give yourself a range in /etc/subuid and /etc/subgid; or use "
            "a ready base: `--base registry`.",
        )


def _repository(folder: Path, packages: tuple[Path, ...], lock: debian.BaseLock) -> None:
    """Write a package repository of exactly these files, under the release's name."""
    paragraphs = []
    for package in packages:
        shutil.copyfile(package, folder / package.name)
        shown = subprocess.run(["dpkg-deb", "--field", str(package)], capture_output=True, text=True, check=True)
        control, sha256 = shown.stdout.rstrip("\n"), digest(package)
        paragraphs.append(f"{control}\nFilename: ./{package.name}\nSize: {package.stat().st_size}\nSHA256: {sha256}\n")
    index = "\n".join(paragraphs).encode()
    (folder / "Packages").write_bytes(index)
    sha256 = hashlib.sha256(index).hexdigest()
    (folder / "Release").write_text(
        f"Suite: {lock.release}\nCodename: {lock.release}\nArchitectures: {lock.architecture} all\n"
        f"SHA256:\n {sha256} {len(index)} Packages\n",
        encoding="utf-8",
    )


def _pull(client: docker.DockerClient, base: Base, progress: Progress) -> None:
    progress(f"pulling {base.reference}")
    try:
        client.images.pull(base.reference, platform=architectures.current().platform)
    except (APIError, ImageNotFound) as error:
        raise LevelfieldError(
            f"The base {base.reference} cannot be pulled: {error.explanation or error}",
            fix="Check that the engine reaches its registry, or let the base be made here: `--base debian`.",
        ) from error
