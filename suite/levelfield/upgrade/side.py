"""Which side of an upgrade a boot is: seen by the fingerprint, never told by the user."""

import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

from levelfield.errors import LevelfieldError
from levelfield.machine.fingerprint import fingerprint
from levelfield.machine.reading import ROOT, text
from levelfield.record.schema import Absent
from levelfield.schedule.outcomes import utc_now
from levelfield.upgrade.events import Side
from levelfield.upgrade.progress import Phase, State
from levelfield.upgrade.settings import hardware, identity

_BOOT_ID = Path("proc/sys/kernel/random/boot_id")
MOST_NAMED = 4
"""Differences that a message names."""


class Seen(msgspec.Struct, frozen=True):
    """What a boot shows of itself."""

    boot_id: str
    """Of the kernel, random(4). It identifies the boot of a machine: only a salted hash of it is kept."""
    identity: dict[str, str]
    """Of the software stack."""
    hardware: dict[str, str]
    at: str
    """UTC, ISO 8601."""

    def boot(self, salt: str) -> str:
        """Return the salted hash of the boot's id, by which `next` knows a boot again."""
        return hashlib.sha256(f"{salt}\n{self.boot_id}".encode()).hexdigest()[:32]


def see(cpus: Sequence[int]) -> Seen:
    """Look at this boot.

    Raises LevelfieldError: the kernel does not say which boot this is.
    """
    boot_id = text(ROOT / _BOOT_ID)
    if isinstance(boot_id, Absent):
        raise LevelfieldError(
            f"The kernel does not say which boot this is ({boot_id.reason}).",
            fix="Run it where /proc/sys/kernel/random/boot_id can be read.",
        )
    machine = fingerprint(cpus)
    return Seen(boot_id=boot_id, identity=identity(machine), hardware=hardware(machine), at=utc_now())


def recognise(state: State, seen: Seen) -> Side:
    """Return which side this boot is.

    Raises LevelfieldError: it is another machine, or a third stack.
    """
    begun = state.begun
    other = _differences(begun.hardware, seen.hardware)
    if other:
        raise LevelfieldError(
            f"This is not the machine on which the upgrade {begun.name} was begun ({other}).",
            fix="Run it on that machine, or begin another upgrade here.",
        )
    from_old = _differences(begun.identity, seen.identity)
    if begun.declared:
        if from_old:
            raise LevelfieldError(
                f"This machine's own stack changed since the upgrade {begun.name} was begun ({from_old}), and its "
                "sides are image sets.",
                fix="Bring the old stack back, or begin another upgrade.",
            )
        return "new" if state.phase is Phase.NEW else "old"
    if not from_old:
        return "old"
    new = state.new_identity
    from_new = _differences(new, seen.identity) if new is not None else ""
    if from_new:
        raise LevelfieldError(
            f"This is a third stack: it differs from the old one ({from_old}) and from the new one ({from_new}).",
            fix="Bring the old or the new stack back; to measure a third one, begin another upgrade.",
        )
    return "new"


def _differences(before: Mapping[str, str], now: Mapping[str, str]) -> str:
    """`kernel, release: 6.1.0 became 6.12.0`, the first of them; empty where there are none.

    A fact that one of the two does not know is no difference: a container engine may not have started yet.
    """
    found = [f"{name}: {value} became {now[name]}" for name, value in before.items() if now.get(name, value) != value]
    rest = f"; and {len(found) - MOST_NAMED} more" if len(found) > MOST_NAMED else ""
    return "; ".join(found[:MOST_NAMED]) + rest
