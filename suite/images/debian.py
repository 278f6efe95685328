"""The Debian packages that bases are made of, as `images/base.lock` and those beside it name them."""

import hashlib
import tomllib
from pathlib import Path

import msgspec

from suite.errors import LevelfieldError
from suite.images import architectures
from suite.images.catalogue import lines_of
from suite.names import unknown
from suite.paths import cache_folder, images_root
from suite.safety.conversion import convert

RELEASE = "bookworm"
"""The release that most bases are made of."""
BASES = {"slim": RELEASE, "toolchain": RELEASE, "slim-trixie": "trixie"}
"""Every base, and its Debian release."""


class Package(msgspec.Struct, frozen=True):
    """One locked Debian package."""

    name: str
    version: str
    architecture: str
    sha256: str
    sha1: str
    """By it Debian's archive of all files finds it; which file it is, `sha256` says."""
    size_bytes: int
    installed_bytes: int
    archive: str
    """`debian` or `debian-security`."""
    path: str
    """Inside the archive: `pool/…`."""
    bases: tuple[str, ...]

    @property
    def title(self) -> str:
        """For people."""
        return f"{self.name} {self.version}"

    @property
    def file(self) -> str:
        """File name in the cache; the colon of a version is escaped as apt does it."""
        return f"{self.name}_{self.version.replace(':', '%3a')}_{self.architecture}.deb"


class BaseLock(msgspec.Struct, frozen=True):
    """`images/base.lock`, or that of another release: every package of every base that is made of it."""

    release: str
    architecture: str
    epoch: int
    """When the packages were chosen, in seconds since 1970; nothing in the base is newer."""
    packages: tuple[Package, ...]

    def packages_of(self, base: str) -> tuple[Package, ...]:
        """Return the packages of one base."""
        return tuple(package for package in self.packages if base in package.bases)

    def only(self, base: str) -> "BaseLock":
        """Return the lock of one base alone."""
        packages = tuple(msgspec.structs.replace(package, bases=(base,)) for package in self.packages_of(base))
        return msgspec.structs.replace(self, packages=packages)


def lock_path(release: str = RELEASE) -> Path:
    """Return the path of the lock of a release's bases: `base.lock`, `base-trixie.lock`, `aarch64/base.lock`."""
    return (
        images_root() / architectures.current().folder / ("base.lock" if release == RELEASE else f"base-{release}.lock")
    )


def read_lock(release: str = RELEASE) -> BaseLock:
    """Read the lock of a release's bases.

    Parameters
    ----------
    release
        A Debian release that `BASES` names.

    Raises
    ------
    LevelfieldError
        It is not what `nox -s lock` writes.
    """
    path = lock_path(release)
    try:
        return convert(tomllib.loads(path.read_text(encoding="utf-8")), BaseLock)
    except (tomllib.TOMLDecodeError, msgspec.ValidationError) as error:
        raise LevelfieldError(
            f"images/{path.relative_to(images_root())} cannot be read: {error}.", fix="Run `nox -s lock`."
        ) from error


def lock_of(base: str) -> BaseLock:
    """Read the lock that names the packages of a base.

    Parameters
    ----------
    base
        A name of `BASES`.

    Raises
    ------
    LevelfieldError
        There is no such base, or its lock cannot be read.
    """
    if base not in BASES:
        raise unknown("base", base, BASES)
    return read_lock(BASES[base])


def package_names(base: str) -> tuple[str, ...]:
    """Return the packages that a base asks for beyond Debian's required ones; the same in every release."""
    kind = base.removesuffix(f"-{BASES[base]}")
    return lines_of(images_root() / "base" / f"{kind}.packages")


def digest(lock: BaseLock, base: str) -> str:
    """Return the SHA-256 over what a base is made of.

    Parameters
    ----------
    lock, base
        The lock of all bases, and the name of one of them.

    Returns
    -------
    str
        Hexadecimal; it covers release, architecture, epoch, and the name, version and hash of each package.
    """
    lines = [f"{lock.release} {lock.architecture} {lock.epoch}"]
    lines += sorted(f"{package.name} {package.version} {package.sha256}" for package in lock.packages_of(base))
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()


def missing(lock: BaseLock, base: str) -> tuple[Package, ...]:
    """Return the packages of a base that are not in the cache yet.

    Parameters
    ----------
    lock, base
        The lock of all bases, and the name of one of them.
    """
    folder = cache_folder("debs")
    return tuple(package for package in lock.packages_of(base) if not (folder / package.file).is_file())
