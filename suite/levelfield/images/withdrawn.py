"""What package indexes withdrew of a lock: releases that are yanked, and wheels that are no longer there."""

import re
from collections.abc import Iterator, Sequence

import msgspec

from levelfield.errors import LevelfieldError
from levelfield.images import catalogue, locks, registries, version_locks
from levelfield.images.catalogue import Lock, Pin
from levelfield.paths import temporary_folder

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
    return tuple(
        _among(lock, lock.pins, ["--no-header", "--no-annotate", "--no-deps", "--generate-hashes", *arguments])
    )


def _among(lock: Lock, pins: Sequence[Pin], arguments: list[str]) -> Iterator[Withdrawn]:
    with temporary_folder("resolving") as folder:
        source, output = folder / "requirements.in", folder / "requirements.txt"
        source.write_text("".join(f"{pin.name}=={pin.version}\n" for pin in pins), encoding="utf-8")
        done = version_locks.run_uv([source], output, arguments)
        known = output.read_text(encoding="utf-8") if output.is_file() else ""
    if done.returncode and "No solution found" not in done.stderr:
        raise LevelfieldError(
            f"What was withdrawn of {lock.label} is not known: {registries.without_addresses(done.stderr.strip())}",
            fix="Check that your package index answers.",
        )
    if done.returncode and len(pins) > 1:  # the message names one that is gone, and there may be more
        yield from _among(lock, pins[: len(pins) // 2], arguments)
        yield from _among(lock, pins[len(pins) // 2 :], arguments)
        return
    yanked = {match["name"]: match["reason"] or "no reason is given" for match in _YANKED.finditer(done.stderr)}
    for pin in pins:
        if pin.sha256 not in known:
            yield Withdrawn(pin.name, pin.version, GONE)
        elif pin.name in yanked:
            yield Withdrawn(pin.name, pin.version, f"It is yanked: {yanked[pin.name]}")
