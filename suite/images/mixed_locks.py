"""Locks that take some distributions from one lock and the rest from another: to find which one makes a difference."""

import hashlib
import tempfile
from collections.abc import Collection
from pathlib import Path

from suite.errors import LevelfieldError
from suite.images import catalogue, wheels
from suite.images.catalogue import PYTHON, Lock
from suite.images.version_locks import compile_requirements

SPELLED = 3
"""Distributions that a mixed lock's name spells out; of more it only says how many."""


def changed(first: Lock, second: Lock) -> tuple[str, ...]:
    """Return the names of the distributions that differ between two locks: another version, another file, or missing.

    Parameters
    ----------
    first, second
        Locks of the same image and variant; their order does not matter.

    Returns
    -------
    tuple of str
        Sorted.
    """
    old = {pin.name: (pin.version, pin.sha256) for pin in first.pins}
    new = {pin.name: (pin.version, pin.sha256) for pin in second.pins}
    return tuple(sorted(name for name in old.keys() | new.keys() if old.get(name) != new.get(name)))


def mix(first: Lock, second: Lock, chosen: Collection[str]) -> Lock:
    """Write the lock that holds `chosen` as the second lock does, and everything else as the first.

    Parameters
    ----------
    first, second
        Locks of the same image and variant.
    chosen
        Names of distributions. One that only the second lock has is added; one that only the first has is left out.

    Returns
    -------
    Lock
        A lock in the cache, found by `suite.images.catalogue.lock` under its version's name.

    Raises
    ------
    LevelfieldError
        The locks are of different images or variants.
    """
    if (first.image, first.variant) != (second.image, second.variant):
        raise LevelfieldError(
            f"{first.label} and {second.label} cannot be mixed: they are different images.",
            fix="Name two versions of one image.",
        )
    pins = [pin for pin in first.pins if pin.name not in chosen]
    pins += [pin for pin in second.pins if pin.name in chosen]
    folder = catalogue.mixed_folder(first.image)
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{catalogue.stem(first.variant, _name(first, second, chosen))}.lock"
    catalogue.write(path, tuple(pins))
    return catalogue.read(path)


def _name(first: Lock, second: Lock, chosen: Collection[str]) -> str:
    start = first.version or catalogue.current_version(first.image, first.variant) or "current"
    names = sorted(chosen)
    spelled = "~".join(names) if len(names) <= SPELLED else f"{len(names)}-distributions"
    mark = hashlib.sha256("\n".join([first.sha256, second.sha256, *names]).encode()).hexdigest()[:6]
    return f"{start}~{spelled}~{mark}"


def conflict(lock: Lock) -> str:
    """Return why the distributions of a lock cannot be installed together, or an empty string.

    Only the wheels' own requirements decide: what a wheel needs must be among the pins.

    Parameters
    ----------
    lock
        Its wheels are fetched, since their metadata is needed.
    progress : callable
        Called with one short line before a download.

    Returns
    -------
    str
        The last line of the resolver's message, or the distributions that are missing.

    Raises
    ------
    LevelfieldError
        A wheel is wrong or cannot be had.
    """
    wheels.fetch(lock)
    pinned = {pin.name: pin.version for pin in lock.pins}
    with tempfile.TemporaryDirectory() as name:
        source, output = Path(name) / "requirements.in", Path(name) / "requirements.txt"
        source.write_text("".join(f"{each}=={version}\n" for each, version in pinned.items()), encoding="utf-8")
        arguments = ["--no-header", "--no-annotate", "--python-version", PYTHON]
        arguments += ["--python-platform", "x86_64-unknown-linux-gnu", "--only-binary", ":all:"]
        arguments += ["--offline", "--no-index", "--find-links", str(wheels.wheel_folder())]
        problem = compile_requirements([source], output, arguments)
        if problem:
            return _last(problem)
        found = {line.partition("==")[0] for line in output.read_text(encoding="utf-8").splitlines() if "==" in line}
    missing = sorted(found - pinned.keys())
    return f"{', '.join(missing)} would be missing" if missing else ""


def _last(problem: str) -> str:
    """Return what uv concluded, on one line."""
    text = " ".join(problem.split())
    return text.partition("Because ")[2] or text
