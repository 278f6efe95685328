"""Debian packages of the bases: `images/base.lock`, and fetching exactly these files with the host's own apt."""

import hashlib
import os
import shutil
import subprocess
import tomllib
from pathlib import Path

import msgspec

from suite.errors import LevelfieldError
from suite.images.wheels import Progress, check, silent
from suite.paths import cache_folder, images_root
from suite.safety.conversion import convert

_HELPER = Path("/usr/lib/apt/apt-helper")
"""apt's own downloader: it knows the host's proxies and certificates, and checks the hash."""

MIRRORS = "LEVELFIELD_DEBIAN_MIRRORS"
"""Environment variable: two addresses, of `debian` and of `debian-security`, instead of those of the host's apt."""


class Package(msgspec.Struct, frozen=True):
    """One locked Debian package."""

    name: str
    version: str
    architecture: str
    sha256: str
    size_bytes: int
    installed_bytes: int
    archive: str
    """`debian` or `debian-security`."""
    path: str
    """Inside the archive: `pool/…`."""
    bases: tuple[str, ...]

    @property
    def file(self) -> str:
        """Name in the cache; a version's colon is written as apt does."""
        return f"{self.name}_{self.version.replace(':', '%3a')}_{self.architecture}.deb"


class BaseLock(msgspec.Struct, frozen=True):
    """`images/base.lock`: every package of every base."""

    release: str
    architecture: str
    epoch: int
    """Seconds since 1970; nothing in the base is newer. Before the newest package, its bytecode would be stale."""
    packages: tuple[Package, ...]

    def packages_of(self, base: str) -> tuple[Package, ...]:
        """Return the packages of one base."""
        return tuple(package for package in self.packages if base in package.bases)


def lock_path() -> Path:
    """Return the path of `base.lock`."""
    return images_root() / "base.lock"


def read_lock() -> BaseLock:
    """Read `base.lock`.

    Raises
    ------
    LevelfieldError
        It is not what `nox -s lock` writes.
    """
    try:
        return convert(tomllib.loads(lock_path().read_text(encoding="utf-8")), BaseLock)
    except (tomllib.TOMLDecodeError, msgspec.ValidationError) as error:
        raise LevelfieldError(f"images/base.lock cannot be read: {error}.", fix="Run `nox -s lock`.") from error


def package_names(base: str) -> tuple[str, ...]:
    """Return the packages that a base asks for beyond Debian's required ones."""
    text = (images_root() / "base" / f"{base}.packages").read_text(encoding="utf-8")
    return tuple(line for line in text.splitlines() if line and not line.startswith("#"))


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


def fetch(lock: BaseLock, base: str, *, progress: Progress = silent) -> tuple[Path, ...]:
    """Return the packages of a base as files, fetched if need be, each with the locked hash.

    Parameters
    ----------
    lock, base
        The lock of all bases, and the name of one of them.
    progress : callable
        Called with one short line before a download.

    Returns
    -------
    tuple of Path
        Files in the cache, in the order of the lock.

    Raises
    ------
    LevelfieldError
        The mirror no longer has a version, or a file is not the locked one.
    """
    folder = cache_folder("debs")
    absent = missing(lock, base)
    if absent:
        size = sum(package.size_bytes for package in absent)
        progress(f"fetching {len(absent)} Debian packages of the {base} base, {size / 1e6:.0f} MB")
        _download(absent, folder)
    return tuple(check(folder / package.file, package.sha256) for package in lock.packages_of(base))


def mirrors() -> dict[str, str]:
    """Return the address of each archive, from the host's apt configuration or `LEVELFIELD_DEBIAN_MIRRORS`.

    Raises
    ------
    LevelfieldError
        The host's apt has no Debian archive.
    """
    chosen = os.environ.get(MIRRORS, "").split()
    if len(chosen) == 2:
        return dict(zip(("debian", "debian-security"), (each.rstrip("/") for each in chosen), strict=True))
    found: dict[str, str] = {}
    if shutil.which("apt-get"):
        layout = "$(REPO_URI)|$(RELEASE)|$(ORIGIN)|$(COMPONENT)|$(IDENTIFIER)"
        listing = subprocess.run(
            ["apt-get", "indextargets", "--format", layout], capture_output=True, text=True, check=False
        )
        for line in listing.stdout.splitlines():
            address, release, origin, component, identifier = line.split("|")
            archive = "debian-security" if release.endswith("-security") else "debian"
            # Before the first `apt-get update` the origin is not known.
            ours = origin == "Debian" or (not origin and archive in address)
            if ours and component == "main" and identifier == "Packages":
                found.setdefault(archive, address.rstrip("/"))
    if len(found) < 2:
        raise LevelfieldError(
            "The base image is made from Debian packages, and this machine's apt has no Debian archive with security "
            "updates configured.",
            fix=f"Name two mirrors in {MIRRORS} (debian, debian-security), or take a ready base: `--base registry`.",
        )
    return found


def _download(packages: tuple[Package, ...], folder: Path) -> None:
    if not _HELPER.exists():
        raise LevelfieldError(
            "Debian packages are fetched with apt, and there is no apt here.",
            fix="Use a ready base: `--base registry`.",
        )
    addresses = mirrors()
    command = [str(_HELPER), "-q=2", "-o", "Acquire::Retries=2"]
    if os.geteuid() == 0:
        # As root, apt downloads as a user of its own, who may not write to our cache.
        command += ["-o", "APT::Sandbox::User=root"]
    command += ["download-file"]
    for package in packages:
        address = f"{addresses[package.archive]}/{package.path}"
        command += [address, str(folder / package.file), f"SHA256:{package.sha256}"]
    result = subprocess.run(command, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL)
    for package in packages:
        (folder / f"{package.file}.FAILED").unlink(missing_ok=True)
    gone = [package for package in packages if not (folder / package.file).is_file()]
    if not gone:
        return
    names = ", ".join(f"{package.name} {package.version}" for package in gone[:3])
    names += f" and {len(gone) - 3} more" if len(gone) > 3 else ""
    if "Hash Sum mismatch" in result.stderr:
        raise LevelfieldError(
            f"The Debian mirror serves other files than the locked ones: {names}.",
            fix="Nothing was built. Choose another mirror, or re-resolve with `nox -s lock`.",
        )
    if "404" in result.stderr or "File not found" in result.stderr:
        raise LevelfieldError(
            f"The Debian mirror no longer has {names}, which images/base.lock names.",
            fix=f"Run `nox -s lock` for today's versions, name a mirror that keeps old ones in {MIRRORS}, or use a "
            "ready base: `--base registry`.",
        )
    raise LevelfieldError(
        f"The Debian packages {names} could not be fetched: {apt_error(result.stderr)}",
        fix="Check that `apt-get update` works here.",
    )


def apt_error(stderr: str) -> str:
    """Return the first error that apt printed."""
    errors = (line.removeprefix("E: ") for line in stderr.splitlines() if line.startswith("E:"))
    return next(errors, "apt gave no reason")
