"""The Debian packages that bases are made of, as `images/base.lock` and those beside it name them."""

import hashlib
import json
import tomllib
from pathlib import Path

import msgspec

from levelfield.errors import LevelfieldError
from levelfield.images import architectures
from levelfield.images.catalogue import lines_of
from levelfield.names import unknown
from levelfield.paths import cache_path, images_root
from levelfield.record.bases import BaseLock, Package
from levelfield.safety.conversion import convert

RELEASE = "bookworm"
"""The release that most bases are made of."""
BASES = {"slim": RELEASE, "toolchain": RELEASE, "slim-trixie": "trixie"}
"""Every base, and its Debian release."""


def lock_path(release: str = RELEASE) -> Path:
    """Return the path of the lock of a release's bases: `base.lock`, `base-trixie.lock`, `aarch64/base.lock`."""
    return (
        images_root() / architectures.current().folder / ("base.lock" if release == RELEASE else f"base-{release}.lock")
    )


def read_lock(release: str = RELEASE) -> BaseLock:
    """Read the lock of a release's bases.

    Raises LevelfieldError: it is not what `nox -s lock` writes.
    """
    return _read(lock_path(release))


def lock_of(base: str, folder: Path | None = None) -> BaseLock:
    """Read the lock that names the packages of a base of `BASES`: this checkout's, or the one that a folder holds.

    Raises LevelfieldError: there is no such base, or its lock cannot be read.
    """
    if base not in BASES:
        raise unknown("base", base, BASES)
    return read_lock(BASES[base]) if folder is None else _read(folder / file_name(base))


def file_name(base: str) -> str:
    """Return how the lock of one base alone is called in a folder of such locks."""
    return f"{base}.lock"


def _read(path: Path) -> BaseLock:
    try:
        return convert(tomllib.loads(path.read_text(encoding="utf-8")), BaseLock)
    except OSError as error:
        raise LevelfieldError(
            f"The lock of a base {path} cannot be read: {error.strerror}.",
            fix="Leave --base out, or name a folder with it.",
        ) from error
    except (tomllib.TOMLDecodeError, msgspec.ValidationError) as error:
        raise LevelfieldError(f"{path} is no lock of a base: {error}.", fix="Run `nox -s lock`.") from error


def package_names(base: str) -> tuple[str, ...]:
    """Return the packages that a base asks for beyond Debian's required ones; the same in every release."""
    kind = base.removesuffix(f"-{BASES[base]}")
    return lines_of(images_root() / "base" / f"{kind}.packages")


def digest(lock: BaseLock, base: str) -> str:
    """Return the SHA-256 over what a base is made of."""
    lines = [f"{lock.release} {lock.architecture} {lock.epoch}"]
    lines += sorted(f"{package.name} {package.version} {package.sha256}" for package in lock.packages_of(base))
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()


def missing(lock: BaseLock, base: str) -> tuple[Package, ...]:
    """Return the packages of a base that are not in the cache yet."""
    folder = cache_path() / "debs"
    return tuple(package for package in lock.packages_of(base) if not (folder / package.file).is_file())


def text(lock: BaseLock) -> str:
    """Return a lock as its file holds it."""
    lines = [
        "# Written by `nox -s lock`: every Debian package of the bases. `images/indexes.toml` says where to get them.",
        "",
        f'release = "{lock.release}"',
        f'architecture = "{lock.architecture}"',
        f"epoch = {lock.epoch}",
        "",
        "packages = [",
    ]
    for package in lock.packages:
        # Texts, whole numbers and lists of texts are written in TOML as in JSON.
        fields = (f"{name} = {json.dumps(value)}" for name, value in msgspec.structs.asdict(package).items())
        lines.append(f"  {{ {', '.join(fields)} }},")
    return "\n".join([*lines, "]", ""])
