"""The fingerprint of a machine: all that may explain why its numbers are what they are."""

import getpass
import hashlib
import platform
from collections.abc import Sequence
from pathlib import Path

import msgspec

from levelfield.machine.control_groups import limits
from levelfield.machine.cpu import clock, cpu, mitigations
from levelfield.machine.engine import engine
from levelfield.machine.gpu import gpu
from levelfield.machine.reading import ROOT, Facts
from levelfield.machine.signals import sources
from levelfield.machine.system import kernel, memory, system, virtualisation
from levelfield.record.schema import Absent, Fact, Fingerprint, is_volatile

SAME_MACHINE = ("cpu", "memory", "virtualisation")
"""Groups of facts that must be unchanged for a figure of one run to mean something in another."""


def fingerprint(cpus: Sequence[int] | None = None, *, identify: bool = False, root: Path = ROOT) -> Fingerprint:
    """Return group to name to value; what cannot be read is absent with the reason, never left out or zero.

    `cpus`: CPUs the workers are pinned to; None: none were chosen. Takes some tenths of a second (the engine and
    systemd are queried); call it between windows, not within.
    """
    groups: Fingerprint = {
        "cpu": cpu(cpus, root),
        "clock": clock(root),
        "mitigations": mitigations(root),
        "memory": memory(root),
        "kernel": kernel(root),
        "virtualisation": virtualisation(root),
        "system": system(root),
        "limits": limits(root),
        "engine": engine(),
        "gpu": gpu(root),
        "signals": sources(root),
    }
    if identify:
        groups["identity"] = _identity()
    return groups


def changed(before: Fingerprint, after: Fingerprint) -> list[str]:
    """Return the differences between two fingerprints, except those that are volatile.

    Returns one phrase for each difference, sorted by group and name; empty for the same machine in the same state.
    """
    old, new = (
        {
            (group, name): fact
            for group, facts in each.items()
            for name, fact in facts.items()
            if not is_volatile(group, name)
        }
        for each in (before, after)
    )
    return [
        f"{', '.join(key)}: {_shown(old.get(key))} became {_shown(new.get(key))}"
        for key in sorted(old.keys() | new.keys())
        if old.get(key) != new.get(key)
        and (key in old or not before.get(key[0]))
        and (key in new or not after.get(key[0]))
    ]


def machine_sha256(machine: Fingerprint) -> str:
    """Return a name for a machine: a digest of its processor, memory and virtualisation (`SAME_MACHINE`)."""
    facts = {group: machine.get(group, {}) for group in SAME_MACHINE}
    return hashlib.sha256(msgspec.json.encode(facts, order="sorted")).hexdigest()


def _shown(fact: Fact | None) -> str:
    match fact:
        case None:
            return "not asked"
        case Absent(reason=reason):
            return f"unknown ({reason})"
        case _:
            return str(fact)


def _identity() -> Facts:
    try:
        user: str | Absent = getpass.getuser()
    except (OSError, KeyError, ImportError) as error:
        user = Absent(f"the user has no name: {error}")
    return {"host": platform.node() or Absent("the host has no name"), "user": user}
