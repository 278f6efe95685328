"""The low modes that runs on this machine have seen, kept from one run to the next.

A run may lie in one state from its beginning to its end, and cannot tell which. What is kept is what a run saw beside
another mode, for a month: firmware, clocks and neighbours change. The rule itself is `record.states`.
"""

import datetime as dt
import hashlib

import msgspec
import numpy as np

from levelfield import untrusted
from levelfield.machine.fingerprint import SAME_MACHINE
from levelfield.paths import cache_root, file_lock
from levelfield.record.files import write_atomically
from levelfield.record.schema import Fingerprint, Image, MachineLevels, MachineProbe
from levelfield.record.states import CALM_ARITHMETIC, LEAST_SHARE, knowledge

NAME = "machine-levels.json"
MAX_BYTES = 1 << 20
MOST = 20
"""Runs of one machine that are kept, the latest."""
DAYS = 30
PROBE = 1
"""Version of the probe's work (`worker.machine_probe`): the times of another one mean nothing."""


class Seen(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    machine: str
    """`key_of` its machine."""
    day: dt.date
    low: MachineProbe


def key_of(machine: Fingerprint, image: Image, cpus: int) -> str:
    """Return what names a machine, and what its probe runs in."""
    facts = {group: machine.get(group, {}) for group in SAME_MACHINE}
    inside = image.lock_sha256 or np.__version__  # what is not locked is what this process has
    content = (PROBE, cpus, image.launcher, inside, image.python, facts)
    return hashlib.sha256(msgspec.json.encode(content, order="sorted")).hexdigest()


def load(machine: str, today: dt.date | None = None) -> MachineProbe | None:
    """Return the low modes that are known of a machine; None: none are, or the file is damaged.

    `today`: the day from which older runs are forgotten; None: it is asked.
    """
    seen = [each.low for each in _read() if each.machine == machine and _is_recent(each, today)]
    if not seen:
        return None
    return MachineProbe(
        arithmetic_ns=min(each.arithmetic_ns for each in seen),
        memory_ns=min(each.memory_ns for each in seen),
        pages_ns=min(each.pages_ns for each in seen),
    )


def keep(machine: str, own: MachineLevels | None, today: dt.date | None = None) -> bool:
    """Keep what a run saw, where it saw two modes, the lower one no higher than is known; return whether it is kept.

    `today`: the day of the run; None: it is asked.
    """
    if own is None or own.kept or own.low_share < LEAST_SHARE or knowledge(own) != "two states seen":
        return False
    known = load(machine, today)
    if known is not None and own.arithmetic_ns > CALM_ARITHMETIC * known.arithmetic_ns:
        return False
    low = MachineProbe(own.arithmetic_ns, own.memory_ns, own.pages_ns)
    path = cache_root() / NAME
    with file_lock(path.with_suffix(".lock")):
        recent = [each for each in _read() if _is_recent(each, today)]
        others = [each for each in recent if each.machine != machine]
        here = [
            *(each for each in recent if each.machine == machine),
            Seen(machine, today or dt.datetime.now(dt.UTC).date(), low),
        ]
        write_atomically(path, msgspec.json.encode([*others[-MOST:], *here[-MOST:]]) + b"\n")
    return True


def _read() -> list[Seen]:
    """Return what is kept; nothing where the file is missing or damaged."""
    try:
        found = msgspec.json.decode(untrusted.read_plain(cache_root() / NAME, MAX_BYTES), type=list[Seen])
    except (OSError, msgspec.MsgspecError):
        return []
    return [each for each in found if min(each.low.arithmetic_ns, each.low.memory_ns, each.low.pages_ns) > 0]


def _is_recent(seen: Seen, today: dt.date | None) -> bool:
    return 0 <= ((today or dt.datetime.now(dt.UTC).date()) - seen.day).days <= DAYS
