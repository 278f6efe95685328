"""The CUDA variants of an image, by the locks that are there."""

import os
import platform

import msgspec

from levelfield.compatibility import known_bad, selection, table
from levelfield.compatibility.devices import Nvidia
from levelfield.compatibility.selection import Choice
from levelfield.errors import LevelfieldError
from levelfield.images import catalogue


def cuda_variants(image_name: str, version: str | None = None) -> dict[str, str]:
    """Return each CUDA variant of an image with the CUDA release of its lock.

    `version`: version of the framework; None for the current locks. Raises LevelfieldError: there is no such image, or
    a lock is not one of ours.
    """
    releases = {
        variant: known_bad.cuda_release(catalogue.lock(image_name, variant, version).versions)
        for variant, name in catalogue.lock_names(image_name)
        if name == version and variant.startswith("cu")
    }
    return {variant: release for variant, release in releases.items() if release is not None}


def choose(
    image_name: str, nvidia: Nvidia, *, version: str | None = None, requested: str | None = None, gpu: int | None = None
) -> Choice:
    """Choose the CUDA variant of an image for this machine, with warnings of versions known to compute wrongly.

    Nothing is fetched: locks and drivers name their versions.

    `image_name`, `version`: an image of the catalogue, and a version of its framework; None for the current locks.
    `gpu`: index of the one GPU to use; None: the variant should suit all of them. Returns its variant is None, with the
    reason, where none runs here. Raises LevelfieldError: there is no such image, or no such variant of it.
    """
    rows = table.read()
    choice = selection.choose(rows, nvidia, cuda_variants(image_name, version), requested=requested, gpu=gpu)
    if choice.variant is None:
        return choice
    versions = known_bad.libraries(catalogue.lock(image_name, choice.variant, version).versions)
    rules = known_bad.matching(rows, versions, nvidia.chosen(gpu))
    bad = [known_bad.sentence(rule, versions) for rule in rules]
    return msgspec.structs.replace(choice, warnings=(*choice.warnings, *bad))


VARIABLE = "LEVELFIELD_ARCHITECTURE"
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


def named(name: str) -> Architecture:
    """Return the architecture of a name, Debian's included.

    Raises LevelfieldError: nothing is made for it.
    """
    for each in ARCHITECTURES.values():
        if name.lower() in {each.name, each.debian}:
            return each
    raise LevelfieldError(f"There are no locks for {name}.", fix=f"There are some for {' and '.join(ARCHITECTURES)}.")


def current() -> Architecture:
    """Return what images are made for: what the environment variable names, else this machine's own kind.

    On a machine that nothing is made for it is x86-64, so that locks can be looked at.

    Raises LevelfieldError: the environment variable names an unknown one.
    """
    if chosen := os.environ.get(VARIABLE):
        return named(chosen)
    machine = platform.machine().lower()
    return next((each for each in ARCHITECTURES.values() if machine in {each.name, each.debian}), X86_64)
