"""Estimate of the downloads, disk space and time that making images or environments will need."""

import os
from collections.abc import Iterable
from pathlib import Path

import msgspec

from levelfield.images import base, catalogue, debian, engine, environments, wheels
from levelfield.images.recipe import recipe
from levelfield.record.references import parse, suffix

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
