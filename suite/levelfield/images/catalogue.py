"""The catalogue: the images that can be built, and their locks."""

import contextlib
import hashlib
import os
import platform
import re
import tomllib
from pathlib import Path
from typing import Literal

import msgspec
from packaging.requirements import Requirement

from levelfield.backends import registry
from levelfield.errors import LevelfieldError
from levelfield.names import unknown
from levelfield.paths import cache_folder, images_root
from levelfield.plugins import Plugin
from levelfield.record.references import split_python, suffix, with_python

ARCHITECTURE_VARIABLE = "LEVELFIELD_ARCHITECTURE"
"""Environment variable: the kind that images are made for, where it is not this machine's."""


class Architecture(msgspec.Struct, frozen=True):
    """One kind of processor, by its names."""

    name: str
    """As the kernel, Python and wheels call it."""
    debian: str
    """As Debian and container engines call it."""
    folder: str
    """Of its locks, below that of the images' recipes; empty: beside the recipes."""
    old_tags: tuple[str, ...]
    """Tags of wheels from before they named a version of glibc."""

    @property
    def platform(self) -> str:
        """Name of the platform for a container engine."""
        return f"linux/{self.debian}"


X86_64 = Architecture("x86_64", "amd64", "", ("manylinux2014", "manylinux2010", "manylinux1"))
AARCH64 = Architecture("aarch64", "arm64", "aarch64", ("manylinux2014",))
ARCHITECTURES = {each.name: each for each in (X86_64, AARCH64)}


def architecture_named(name: str) -> Architecture:
    """Return the architecture of a name, Debian's included.

    Raises LevelfieldError: nothing is made for it.
    """
    for each in ARCHITECTURES.values():
        if name.lower() in {each.name, each.debian}:
            return each
    raise LevelfieldError(f"There are no locks for {name}.", fix=f"There are some for {' and '.join(ARCHITECTURES)}.")


def current_architecture() -> Architecture:
    """Return what images are made for: what the environment variable names, else this machine's own kind.

    On a machine that nothing is made for it is x86-64, so that locks can be looked at.

    Raises LevelfieldError: the environment variable names an unknown one.
    """
    if chosen := os.environ.get(ARCHITECTURE_VARIABLE):
        return architecture_named(chosen)
    machine = platform.machine().lower()
    return next((each for each in ARCHITECTURES.values() if machine in {each.name, each.debian}), X86_64)


PYTHON = "3.11"
"""Minor version of Python that locks are resolved for where nothing else is named: the one in Debian bookworm."""

PYTHONS = {PYTHON: "bookworm", "3.13": "trixie"}
"""Every minor version of Python that a lock can be for, with the Debian release whose Python it is."""

_CATALOGUE = "catalogue.toml"

CUDA_PARTS = ("cuda-", "nvidia-")
"""Prefixes of the distributions that a CUDA variant has beside its framework."""

_PIN = re.compile(
    r"^# (?P<file>\S+\.whl) (?:(?P<size>\d+) bytes, (?P<installed>\d+) installed|size not known)\n"
    r"(?P<name>[a-z0-9][a-z0-9._-]*)==(?P<version>[^\s;\\]+) \\\n"
    r"    --hash=sha256:(?P<sha256>[0-9a-f]{64})$",
    re.MULTILINE,
)


_HEADING = re.compile(
    r"^# Written by `nox -s lock` for Python (?P<python>\S+) on Linux (?P<architecture>[a-z0-9_]+)", re.MULTILINE
)


class Image(msgspec.Struct, frozen=True, forbid_unknown_fields=False):
    """One image of the catalogue."""

    name: str
    base: Literal["slim", "toolchain"]
    """What it stands on, of the Debian release whose Python its lock is for."""
    pythons: dict[str, str] = msgspec.field(default_factory=dict, name="python")
    """Minor version of Python that locks are for where they name none, by variant; `PYTHON` where it is not here."""
    framework: str = ""
    """Distribution that it has versions of, where it has requirements beside it; empty: its only requirement."""
    folder: Path = Path()
    """With its requirements, and its locks for x86-64."""
    plugin: Plugin | None = None
    """What brings it; None: it is in this tool's own catalogue."""

    @property
    def locks(self) -> Path:
        """Folder of its locks for the architecture that images are made for."""
        return self.folder.parent / current_architecture().folder / self.name


class Pin(msgspec.Struct, frozen=True):
    name: str
    version: str
    file: str
    sha256: str
    size_bytes: int
    installed_bytes: int
    sized: bool = True
    """False: it was not fetched for the lock (CUDA wheels are gigabytes); its sizes are 0 then, and mean nothing."""


class Lock(msgspec.Struct, frozen=True):
    """A resolved requirement set: `images/<image>/<variant>.lock` or `images/<image>/<variant>@<version>.lock`."""

    image: str
    variant: str
    version: str | None
    path: Path
    sha256: str
    pins: tuple[Pin, ...]
    python: str = PYTHON
    architecture: Architecture = X86_64

    @property
    def label(self) -> str:
        """Name for people: `torch cpu`, `torch cu12@nightly`."""
        return f"{self.image} {stem(self.variant, self.version)}"

    @property
    def versions(self) -> dict[str, str]:
        """Version of every distribution, by name."""
        return {pin.name: pin.version for pin in self.pins}

    @property
    def installed_bytes(self) -> int:
        return sum(pin.installed_bytes for pin in self.pins)


def images() -> dict[str, Image]:
    """Return every image by name, in the order of the catalogue; those that plug-ins bring come last."""
    root = images_root()
    table = tomllib.loads((root / _CATALOGUE).read_text(encoding="utf-8"))
    found = {
        name: Image(name=name, base=row["base"], pythons=row.get("python", {}), folder=root / name)
        for name, row in table.items()
    }
    brought = {name: plugin for name, plugin in registry.plugins_of_images().items() if name not in found}
    for name, plugin in brought.items():
        with contextlib.suppress(LevelfieldError):  # the others are there all the same; asked for, it says why not
            found[name] = _of_plugin(name, plugin)
    return found


def _of_plugin(name: str, plugin: Plugin) -> Image:
    """Return an image that a plug-in brings; raise LevelfieldError where its files do not say what it is."""
    folder = plugin.folder() / "images"
    try:
        row = tomllib.loads((folder / _CATALOGUE).read_text(encoding="utf-8"))[name]
        return msgspec.convert({**row, "name": name, "folder": folder / name, "plugin": plugin}, Image)
    except (
        OSError,
        UnicodeDecodeError,
        tomllib.TOMLDecodeError,
        KeyError,
        TypeError,
        msgspec.ValidationError,
    ) as error:
        raise LevelfieldError(
            f"The plug-in {plugin.label} has no image {name}: images/{_CATALOGUE} of its package does not describe it "
            f"({type(error).__name__}: {error}).",
            fix=f"It needs a table [{name}] with a base, slim or toolchain.",
        ) from error


def image(name: str) -> Image:
    """Return the image called `name`.

    Raises LevelfieldError: there is none; close matches are named.
    """
    known = images()
    if name not in known:
        if (plugin := registry.plugins_of_images().get(name)) is not None:
            return _of_plugin(name, plugin)
        if (broken := registry.why_broken(name)) is not None:
            raise LevelfieldError(broken, fix="Uninstall that distribution, or install a version that works.")
        raise unknown("image", name, known)
    return known[name]


def unusable() -> tuple[str, ...]:
    """Return why images that plug-ins bring cannot be used, a sentence each."""
    found = []
    for name, plugin in registry.plugins_of_images().items():
        try:
            _of_plugin(name, plugin)
        except LevelfieldError as error:
            found.append(error.message)
    return tuple(found)


def lock_names(image_name: str) -> tuple[tuple[str, str | None], ...]:
    """Return the (variant, version) pairs that `image_name` has locks for, the plain lock of a variant first.

    An image of a plug-in that cannot be used has none.
    """
    if image_name not in images() and image_name in registry.plugins_of_images():
        return ()
    folder = image(image_name).locks
    return tuple(split_stem(name) for name in sorted(path.stem for path in folder.glob("*.lock")))


def versions(image_name: str, variant: str = "cpu") -> tuple[str, ...]:
    """Return the versions of its framework that an image has locks for; `pythons` has those for another Python."""
    named = [
        version
        for each, version in lock_names(image_name)
        if each == variant and version is not None and split_python(version)[1] is None
    ]
    current = current_version(image_name, variant)
    return tuple(sorted({*named, *([current] if current else [])}, key=version_key))


def pythons(image_name: str, variant: str = "cpu") -> tuple[str, ...]:
    """Return how the locks for another Python are written behind a name: `+python=3.13`, `@0.9.2+python=3.13`."""
    return tuple(
        suffix(each, version)
        for each, version in lock_names(image_name)
        if each == variant and split_python(version)[1] is not None
    )


def python_for(image_name: str, variant: str = "cpu", version: str | None = None) -> str:
    """Return the minor version of Python that a lock is to be resolved for.

    `version`: name of a lock of the variant; None for the current one. Raises LevelfieldError: there is no such image,
    or no base has the Python that the name asks for.
    """
    python = split_python(version)[1] or image(image_name).pythons.get(variant, PYTHON)
    _check_python(python)
    return python


def _check_python(python: str) -> None:
    if python not in PYTHONS:
        raise LevelfieldError(
            f"No base has Python {python}.", fix=f"The bases have Python {' and '.join(PYTHONS)}: choose one of them."
        )


def source(image_name: str, variant: str = "cpu") -> Path:
    """Return the requirements of a variant: `requirements.in` on the CPU, else a file of the variant's name.

    Raises LevelfieldError: there is no such variant of the image.
    """
    known = _sources(image_name)
    if variant not in known:
        raise unknown(f"variant of {image_name}", variant, known)
    return known[variant]


def _sources(image_name: str) -> dict[str, Path]:
    """Return the requirements of each variant; those beside the locks of another architecture replace them."""
    found = image(image_name)
    folders = dict.fromkeys((found.folder, found.locks))
    paths = (path for folder in folders for path in sorted(folder.glob("*.in")) if "@" not in path.stem)
    return {"cpu" if path.stem == "requirements" else path.stem: path for path in paths}


def unlocked(image_name: str) -> tuple[str, ...]:
    """Return the variants that an image has requirements and no lock for: of indexes not reachable everywhere.

    CUDA variants are for x86-64 alone.
    """
    possible = set(_sources(image_name))
    if current_architecture() != X86_64:
        possible &= {"cpu"}
    return tuple(sorted(possible - {variant for variant, _ in lock_names(image_name)}))


def requirement(image_name: str, variant: str = "cpu") -> str | None:
    """Return the requirement of the framework that an image has versions of (`onnxruntime==1.31.1`).

    It is the only requirement of an image's own, or the one that the catalogue names; None where there are several:
    such an image has no versions. Raises LevelfieldError: there is no such variant of the image.
    """
    own, named = _own(image_name, variant), image(image_name).framework
    chosen = [line for line in own if not named or Requirement(line).name == named]
    return chosen[0] if len(chosen) == 1 else None


def beside(image_name: str, variant: str = "cpu") -> tuple[str, ...]:
    """Return the requirements of an image's own beside that of its framework."""
    required = requirement(image_name, variant)
    return tuple(line for line in _own(image_name, variant) if line != required)


def of_workers(image_name: str, variant: str = "cpu") -> tuple[str, ...]:
    """Return what every worker needs, but what an image has a requirement of its own for: an old framework's NumPy."""
    own = {Requirement(line).name for line in _own(image_name, variant)}
    shared = lines_of(images_root() / "worker.in")
    return tuple(line for line in shared if Requirement(line).name not in own)


def _own(image_name: str, variant: str) -> list[str]:
    return [line for line in lines_of(source(image_name, variant)) if not line.startswith(("-", *CUDA_PARTS))]


def lines_of(path: Path) -> tuple[str, ...]:
    """Return the lines of a file of requirements, or of package names, without comments and empty lines."""
    lines = (line.strip() for line in path.read_text(encoding="utf-8").splitlines())
    return tuple(line for line in lines if line and not line.startswith("#"))


def framework(image_name: str, variant: str = "cpu") -> str | None:
    """Return the name of the distribution that an image has versions of; None where it has none (`requirement`)."""
    required = requirement(image_name, variant)
    return Requirement(required).name if required else None


def current_version(image_name: str, variant: str = "cpu") -> str | None:
    """Return the version of its framework that the plain lock holds, without a local part; None: there is none."""
    if (variant, None) not in lock_names(image_name) or (name := framework(image_name, variant)) is None:
        return None
    found = read(_lock_path(image_name, variant)).versions.get(name)
    return found.partition("+")[0] if found else None


def _lock_path(image_name: str, variant: str, version: str | None = None) -> Path:
    return image(image_name).locks / f"{stem(variant, version)}.lock"


def lock(image_name: str, variant: str = "cpu", version: str | None = None) -> Lock:
    """Read the lock of an image.

    `version`: name of the lock: a version of the framework, a Python (`py3.13`) or both. None is the plain lock, and so
    are the version and the Python that it holds, where those have no lock of their own. Raises LevelfieldError: there
    is no such image or lock, or the file is not one of ours.
    """
    known = lock_names(image_name)
    if (variant, version) in known:
        return read(_lock_path(image_name, variant, version))
    if not known:
        where = f" for {wanted}" if (wanted := current_architecture().name) != X86_64.name else ""
        raise LevelfieldError(
            f"The image {image_name} has no lock{where}.", fix=f"`levelfield images lock {image_name}` makes one."
        )
    if version is None or (variant, None) not in known:
        raise unknown(f"lock of {image_name}", stem(variant, version), [stem(*each) for each in known])
    current = current_version(image_name, variant)
    of_framework, python = split_python(version)
    if of_framework == current and of_framework is not None:
        return lock(image_name, variant, with_python(None, python))
    if python is not None and python == read(_lock_path(image_name, variant)).python:
        return lock(image_name, variant, of_framework)
    mixed = mixed_folder(image_name) / f"{stem(variant, version)}.lock"
    if mixed.is_file():
        return read(mixed)
    raise _no_version(image_name, variant, version)


def mixed_folder(image_name: str) -> Path:
    """Return the folder of locks that take some distributions from one lock and some from another."""
    return cache_folder("locks") / current_architecture().folder / image_name


def _no_version(image_name: str, variant: str, version: str) -> LevelfieldError:
    of_framework, python = split_python(version)
    if of_framework is not None and framework(image_name) is None:
        return LevelfieldError(f"The image {image_name} has no versions.", fix=f"Leave out @{of_framework}.")
    if python is not None:
        _check_python(python)
    if of_framework == "cuda":
        doctor = "`levelfield doctor` says which is found; to compute on the CPU, leave out @cuda."
        return LevelfieldError(f"{image_name}@cuda computes on a GPU, and none is used here.", fix=doctor)
    locked = versions(image_name, variant)
    close = next((each for each in reversed(locked) if each.startswith(f"{of_framework}.") and python is None), None)
    meant = f"Did you mean {image_name}{suffix(variant, close)}? " if close else ""
    available = ", ".join([*locked, *pythons(image_name, variant)])
    made = image_name + suffix(variant, version)
    wanted = " ".join(part for part in (of_framework, f"with Python {python}" if python else None) if part)
    return LevelfieldError(
        f"There is no lock of {image_name} {wanted} for {variant}.",
        fix=f"{meant}Locked: {available}. `levelfield images lock {made}` makes one.",
    )


def read(path: Path) -> Lock:
    """Parse one lock file.

    Raises LevelfieldError: the file holds anything but exactly pinned wheels with a hash, or no base has the Python
    that it is for.
    """
    content = path.read_bytes()
    text = content.decode("utf-8")
    rest = re.sub(r"^#(?!.*\.whl ).*$", "", _PIN.sub("", text), flags=re.MULTILINE).strip()
    if rest:
        line = rest.splitlines()[0]
        raise LevelfieldError(
            f"The lock {path.name} of {path.parent.name} has a line that pins no wheel: {line!r}.",
            fix="Locks are written by `nox -s lock`, not by hand: run it again.",
        )
    pins = tuple(
        Pin(
            name=found["name"],
            version=found["version"],
            file=found["file"],
            sha256=found["sha256"],
            size_bytes=int(found["size"] or 0),
            installed_bytes=int(found["installed"] or 0),
            sized=found["size"] is not None,
        )
        for found in _PIN.finditer(text)
    )
    variant, version = split_stem(path.stem)
    heading = _HEADING.search(text)
    python = heading["python"] if heading else PYTHON
    _check_python(python)
    architecture = architecture_named(heading["architecture"]) if heading else X86_64
    return Lock(
        image=path.parent.name,
        variant=variant,
        version=version,
        path=path,
        sha256=hashlib.sha256(content).hexdigest(),
        pins=pins,
        python=python,
        architecture=architecture,
    )


def write(path: Path, pins: tuple[Pin, ...], python: str = PYTHON) -> None:
    """Write a lock that `read` reads and pip and uv accept."""
    lines = [
        f"# {pin.file} {_sizes(pin)}\n{pin.name}=={pin.version} \\\n    --hash=sha256:{pin.sha256}\n"
        for pin in sorted(pins, key=lambda pin: pin.name)
    ]
    machine = current_architecture().name
    heading = (
        f"# Written by `nox -s lock` for Python {python} on Linux {machine}: each wheel, its size and its hash.\n\n"
    )
    path.write_text(heading + "".join(lines), encoding="utf-8")


def _sizes(pin: Pin) -> str:
    return f"{pin.size_bytes} bytes, {pin.installed_bytes} installed" if pin.sized else "size not known"


def stem(variant: str, version: str | None) -> str:
    """Return the name of a lock's file, without its suffix: `cpu`, `cpu@1.30.0`."""
    return f"{variant}@{version}" if version else variant


def split_stem(text: str) -> tuple[str, str | None]:
    """Read the name of a lock's file: `cpu@1.30.0` is version 1.30.0 of variant cpu."""
    variant, _, version = text.partition("@")
    return variant, version or None


def version_key(version: str) -> tuple[tuple[int, int | str], ...]:
    """Sort key of versions: number by number, so that 1.9 comes before 1.30; words come before numbers."""
    parts = re.findall(r"\d+|[a-zA-Z]+", version)
    return tuple((1, int(part)) if part.isdigit() else (0, part) for part in parts)
