"""What is old or withdrawn in locks: `levelfield images lock --check`."""

import re
from collections.abc import Container, Iterable, Iterator, Sequence
from pathlib import Path

import msgspec
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

from levelfield.compatibility import gate, libraries
from levelfield.errors import LevelfieldError
from levelfield.images import catalogue, locks, registries, version_locks
from levelfield.images.catalogue import Lock, Pin
from levelfield.images.wheels import Progress, silent
from levelfield.paths import images_root
from levelfield.record.references import Reference

_YANKED = re.compile(r"^warning: `(?P<name>[^`=]+)==[^`]+` is yanked(?: \(reason: \"(?P<reason>.*)\"\))?", re.MULTILINE)
GONE = "It is no longer on the package index."


class Withdrawn(msgspec.Struct, frozen=True):
    """A distribution whose release is yanked, or whose locked wheel is gone."""

    name: str
    locked: str
    reason: str


def withdrawn(lock: Lock) -> tuple[Withdrawn, ...]:
    """Ask the indexes for exactly what a lock holds; raise a LevelfieldError where they do not answer."""
    source = catalogue.source(lock.image, lock.variant)
    arguments = locks.resolver_arguments(lock.variant, source, registries.settings(), lock.python)
    return tuple(_among(lock, lock.pins, ["--no-deps", "--generate-hashes", *arguments]))


def _among(lock: Lock, pins: Sequence[Pin], arguments: list[str]) -> Iterator[Withdrawn]:
    done = version_locks.compiled(arguments, lines=version_locks.exactly(pins))
    if done.failed and "No solution found" not in done.said:
        raise LevelfieldError(
            f"What was withdrawn of {lock.label} is not known: {done.problem}",
            fix="Check that your package index answers.",
        )
    if done.failed and len(pins) > 1:  # the message names one that is gone, and there may be more
        yield from _among(lock, pins[: len(pins) // 2], arguments)
        yield from _among(lock, pins[len(pins) // 2 :], arguments)
        return
    yanked = {match["name"]: match["reason"] or "no reason is given" for match in _YANKED.finditer(done.said)}
    for pin in pins:
        if pin.sha256 not in done.text:
            yield Withdrawn(pin.name, pin.version, GONE)
        elif pin.name in yanked:
            yield Withdrawn(pin.name, pin.version, f"It is yanked: {yanked[pin.name]}")


_PINNED = re.compile(r"(?P<start>[^=#;]+)==(?P<version>[^;#\s]+)")


class Outdated(msgspec.Struct, frozen=True):
    """A distribution of which the index has a newer version that can be installed with the rest."""

    name: str
    locked: str
    newest: str
    pinned_in: str
    """File below `images/` that asks for exactly the locked version; empty: to lock again is enough."""


class Checked(msgspec.Struct, frozen=True):
    """What was found of one lock."""

    image: str
    lock: str
    """Name of the lock's file, without its suffix: `cpu`, `cpu@1.30.0`."""
    python: str
    outdated: tuple[Outdated, ...] | None
    """None: that was not asked. A named lock is of an older version on purpose."""
    problem: str = ""
    """Why the index gave no answer; empty where it did."""
    withdrawn: tuple[Withdrawn, ...] = ()
    """What the index no longer has, or has yanked."""
    wrong: tuple[str, ...] = ()
    """Sentences on frameworks that are known to answer wrongly."""


def check(chosen: Iterable[Reference], *, progress: Progress = silent) -> tuple[Checked, ...]:
    """Check the locks of images: all of them, or those that are named.

    The newest versions are those that uv finds together for the requirements with their exact versions taken out: what
    another requirement excludes is not called outdated. A version with a local part (`2.13.0+cpu`) is kept: another one
    is another build. So are the framework and the release of CUDA of a CUDA variant: which versions are made with
    which CUDA, no index says.

    `chosen`: as in `images.locks.relock`: an image by its name alone means all its locks. Empty: all images. Raises
    LevelfieldError: an image or a lock is not there.
    """
    return tuple(_checked(lock, progress) for lock in _locks(tuple(chosen)))


def _locks(chosen: tuple[Reference, ...]) -> Iterator[Lock]:
    for each in chosen or tuple(Reference(name) for name in catalogue.images()):
        if each.version is None and each.variant == "cpu":
            yield from (catalogue.lock(each.name, *entry) for entry in catalogue.lock_names(each.name))
        else:
            yield catalogue.lock(each.name, each.variant, each.version)


def _checked(lock: Lock, progress: Progress) -> Checked:
    outdated, problem = None, ""
    gone: tuple[Withdrawn, ...] = ()
    progress(f"asking whether all that {lock.label} holds is still there")
    try:
        gone = withdrawn(lock)
    except LevelfieldError as error:
        problem = error.message
    if lock.version is None:
        progress(f"asking for newer versions of what {lock.label} holds")
        try:
            outdated = _outdated(lock)
        except LevelfieldError as error:
            problem = error.message
    versions = lock.versions if lock.variant == "cpu" else {}
    return Checked(
        image=lock.image,
        lock=lock.path.stem,
        python=lock.python,
        outdated=outdated,
        problem=problem,
        withdrawn=gone,
        wrong=tuple(each.sentence for each in libraries.known_wrong(gate.read(), versions)),
    )


def _outdated(lock: Lock) -> tuple[Outdated, ...]:
    source = catalogue.source(lock.image, lock.variant)
    pinned: dict[str, str] = {}
    kept = {"cuda-toolkit", catalogue.framework(lock.image, lock.variant)} if lock.variant != "cpu" else set()
    loose = _loosened(source, kept, pinned)
    if catalogue.image(lock.image).plugin is not None:  # built-in ones name the file
        shared = catalogue.of_workers(lock.image, lock.variant)
        loose += [_loose(line, images_root() / "worker.in", kept, pinned) for line in shared]
    newest = _resolved(lock, source, loose)
    return tuple(
        Outdated(name, held, newest[name], pinned.get(canonicalize_name(name), ""))
        for name, held in lock.versions.items()
        if name in newest and Version(newest[name]) > Version(held)
    )


def _loosened(source: Path, kept: Container[str | None], pinned: dict[str, str]) -> list[str]:
    """Return the lines of requirements without exact versions but those kept, and note in which file each stood."""
    found: list[str] = []
    for line in catalogue.lines_of(source):
        if line.startswith("-r"):
            found += _loosened((source.parent / line[2:].strip()).resolve(), kept, pinned)
        elif line.startswith("-c"):
            found.append(f"-c {(source.parent / line[2:].strip()).resolve()}")
        else:
            found.append(_loose(line, source, kept, pinned))
    return found


def _loose(line: str, source: Path, kept: Container[str | None], pinned: dict[str, str]) -> str:
    exact = _PINNED.match(line)
    if exact is None or "+" in exact["version"]:
        return line
    name = canonicalize_name(Requirement(exact["start"].strip()).name)
    if name in kept:
        return line
    file, own = source.resolve(), images_root().resolve()
    pinned[name] = file.relative_to(own if file.is_relative_to(own) else file.parents[1]).as_posix()  # a plug-in's
    return exact["start"].strip()


def _resolved(lock: Lock, source: Path, lines: list[str]) -> dict[str, str]:
    """Return the newest versions that can be installed together."""
    arguments = locks.resolver_arguments(lock.variant, source, registries.settings(), lock.python)
    found = version_locks.compiled(["--quiet", "--upgrade", *arguments], lines=lines)
    if found.problem:
        raise LevelfieldError(
            f"The newest versions for {lock.label} are not known: {found.problem}",
            fix="Check that your package index answers.",
        )
    return dict(re.findall(r"^([a-z0-9][a-z0-9._-]*)==([^\s;]+)", found.text, flags=re.MULTILINE))
