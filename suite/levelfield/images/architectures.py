"""Kinds of processors that images and environments are made for: each has locks of its own."""

import os
import platform

import msgspec

from levelfield.errors import LevelfieldError

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
