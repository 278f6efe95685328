"""Nodes that can be compared, and what one of them has that most of its peers have not.

Peers have the same hardware, by the facts that stay the same when software changes. What may differ between them is
software, firmware, settings, clocks, power limits and images. Facts that are measured anew each time, and those that
another fact says (`compare.upgrade_rules`), are left out. A fact of which no value has a clear majority (an address, a
serial number) names nobody.
"""

import hashlib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType

import msgspec

from levelfield.analysis.environment import NOT_RECORDED, Environment, machine_title, recorded
from levelfield.analysis.summary import Reduced
from levelfield.compare.changes import hardware_differences, is_known
from levelfield.compare.upgrade_rules import RULES, rule
from levelfield_fleet.types import Difference

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
    groups_of: dict[str, dict[str, tuple[Reduced, ...]]] = {}
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
        groups_of.setdefault(_key(hardware, name), {})[name] = kept
    groups = (
        Peers(key, machine_title(next(iter(nodes.values()))[-1].machine), nodes) for key, nodes in groups_of.items()
    )
    return tuple(sorted(groups, key=lambda group: (-len(group.nodes), group.key))), tuple(notes)


def differs_from(group: Peers, other: Peers) -> str:
    """Say what the hardware of a group has that that of another one has not; an empty text where it is not known."""
    first, second = group.hardware, other.hardware
    parts = hardware_differences(first, second)
    parts += [f"{name} ({first[name]} and none)" for name in first if name not in second]
    parts += [f"{name} (none and {second[name]})" for name in second if name not in first]
    return "; ".join(parts)


def _key(hardware: Mapping[str, str], node: str) -> str:
    known = is_known(hardware.get(_PROCESSOR, ""))
    facts = sorted(hardware.items()) if known else [("node", node)]
    return hashlib.sha256(msgspec.json.encode(facts)).hexdigest()[:12]


CLEAR = 0.8
"""Share of the peers that have one value, from which another value is a difference."""
FEWEST = 2
"""Peers whose value is known, from which there is a majority."""
MOST = 100
"""Differences of one node that are kept: an untrusted record may hold any number."""

_NO_SETTINGS = frozenset({("memory", "total bytes")})
"""What a kernel leaves of the memory differs by a little; the hardware has it in GiB."""
_FOLLOWS = ("layer ", "size bytes")
"""Facts of an image that change with its lock, its recipe or its base."""


def differences(group: Peers) -> Mapping[str, tuple[Difference, ...]]:
    """Return the facts of each node that are not what most of its peers have, by its name."""
    environments = {name: runs[-1].environment for name, runs in group.nodes.items()}
    named: dict[str, list[Difference]] = {name: [] for name in environments}
    facts = {(part, name) for facts_of in environments.values() for part, names in facts_of.items() for name in names}
    for part, name in sorted(filter(_may_name, facts), key=_order):
        for node, difference in _of_fact(part, name, environments):
            named[node].append(difference)
    return MappingProxyType({name: _without_followers(facts_of) for name, facts_of in named.items()})


def _may_name(fact: tuple[str, str]) -> bool:
    """Return whether a node can be named for another value of a fact."""
    part, name = fact
    return fact not in _NO_SETTINGS and rule(f"{part}, {name}").kind != "ignored"


def _order(fact: tuple[str, str]) -> tuple[int, str, str]:
    """Driver, kernel and clocks come before images, as in the rules."""
    part, name = fact
    return RULES.index(rule(f"{part}, {name}")), part, name


def _of_fact(part: str, name: str, environments: Mapping[str, Environment]) -> Iterator[tuple[str, Difference]]:
    values = {node: recorded(environment.get(part), part, name) for node, environment in environments.items()}
    counts = Counter(value for value in values.values() if value != NOT_RECORDED)
    if len(counts) < 2:
        return
    (majority, most), (_, second) = counts.most_common(2)
    others = counts.total() - 1
    share = most / others if others else 0.0
    if most == second or others < FEWEST or share < CLEAR:
        return
    for node, value in values.items():
        if value not in (majority, NOT_RECORDED):
            yield node, Difference(group=part, name=name, value=value, majority=majority, share=share)


def _without_followers(differing: list[Difference]) -> tuple[Difference, ...]:
    """Leave out the layers of an image of which something else differs that explains them."""
    explained = {one.group for one in differing if not one.name.startswith(_FOLLOWS)}
    kept = [one for one in differing if not (one.group in explained and one.name.startswith(_FOLLOWS))]
    return tuple(kept[:MOST])
