"""Nodes that can be compared: peers have the same hardware, by the facts that stay the same when software changes."""

import hashlib
from collections.abc import Mapping, Sequence

import msgspec

from levelfield.analysis.environment import machine_title
from levelfield.analysis.summary import Reduced
from levelfield.compare.changes import hardware_differences, is_known

_PROCESSOR = "cpu model"


class Peers(msgspec.Struct, frozen=True):
    """Nodes of like hardware."""

    key: str
    title: str
    """`AMD EPYC …, 64 cores, 512 GiB, NVIDIA H100`."""
    nodes: dict[str, tuple[Reduced, ...]]
    """Runs on this hardware by node, each in the order of time, at least one; the nodes by name."""

    @property
    def hardware(self) -> dict[str, str]:
        """Facts of the hardware by name."""
        return next(iter(self.nodes.values()))[0].hardware


def by_hardware(fleet: Mapping[str, Sequence[Reduced]]) -> tuple[tuple[Peers, ...], tuple[str, ...]]:
    """Group the nodes of a fleet by their hardware."""
    found: dict[str, dict[str, tuple[Reduced, ...]]] = {}
    notes = []
    for name in sorted(fleet):
        runs = sorted(fleet[name], key=lambda run: (run.facts.started, run.facts.id))
        if not runs:
            continue
        hardware = runs[-1].hardware
        kept = tuple(run for run in runs if run.hardware == hardware)
        if len(kept) < len(runs):
            notes.append(
                f"{len(runs) - len(kept)} of {len(runs)} runs of {name} were made on other hardware than its newest "
                "run, and are left out."
            )
        found.setdefault(_key(hardware, name), {})[name] = kept
    groups = (Peers(key, machine_title(next(iter(nodes.values()))[-1].machine), nodes) for key, nodes in found.items())
    return tuple(sorted(groups, key=lambda group: (-len(group.nodes), group.key))), tuple(notes)


def differs_from(group: Peers, other: Peers) -> str:
    """Say what the hardware of a group has that that of another one has not; an empty text where it is not known."""
    first, second = group.hardware, other.hardware
    found = hardware_differences(first, second)
    found += [f"{name} ({first[name]} and none)" for name in first if name not in second]
    found += [f"{name} (none and {second[name]})" for name in second if name not in first]
    return "; ".join(found)


def _key(hardware: Mapping[str, str], node: str) -> str:
    known = is_known(hardware.get(_PROCESSOR, ""))
    facts = sorted(hardware.items()) if known else [("node", node)]
    return hashlib.sha256(msgspec.json.encode(facts)).hexdigest()[:12]
