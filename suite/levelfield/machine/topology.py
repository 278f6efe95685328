"""How the CPUs are arranged: cores, kinds of core, NUMA nodes and their memory; and which of it may be used.

Sources: the kernel's documentation, admin-guide/cputopology, ABI/stable/sysfs-devices-node, and cgroup-v2 (cpuset).
"""

import os
import re
from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec

from levelfield.machine.control_groups import limits
from levelfield.machine.reading import ROOT, Facts, integer, online, table, text
from levelfield.record.cpu_lists import as_text, cpu_list
from levelfield.record.schema import Absent

_CPU = Path("sys/devices/system/cpu")
_NODE = Path("sys/devices/system/node")
_PMUS = {"cpu_core": "performance", "cpu_atom": "efficiency", "cpu_lowpower": "low power"}
"""Performance counters of Intel's hybrid processors, one for each kind of core, the fastest first; each lists its CPUs
(the kernel's perf_event_open documentation of hybrid processors, and its `intel_pmu_init`)."""
_SAME_KIND = 0.9
"""Cores whose capacity is at least this share of the fastest core's are of its kind: clusters of equal cores differ by
some percent where their highest clocks do."""
_LEAST_SHOWN = 0.9
"""Share of the machine's memory that its nodes have together, at the least, where their sizes mean something."""
_MEMORY = re.compile(r"MemTotal:\s+(\d+) kB")
_GIB = 2**30
_NOT_CHOSEN = Absent("none were chosen: all that are allowed")


class Cpu(msgspec.Struct, frozen=True):
    """One CPU, as the kernel counts them: a hardware thread."""

    number: int
    core: int
    """Lowest number of the CPUs that share its core."""
    node: int = 0
    kind: int = 0
    """Index of `Topology.kinds`."""


class Node(msgspec.Struct, frozen=True):
    number: int
    cpus: tuple[int, ...]
    """Those that are online; none where the node has memory alone."""
    memory_bytes: int | Absent
    """0: the node has CPUs alone."""
    distances: dict[int, int]
    """To each node by its number, as the firmware says (10: itself); empty: the kernel does not say."""


class Topology(msgspec.Struct, frozen=True):
    """The arrangement of a machine. The default is one of which nothing is known."""

    cpus: dict[int, Cpu] = {}
    """All that are online, by number."""
    nodes: tuple[Node, ...] = ()
    kinds: tuple[str, ...] = ("",)
    """Names of the kinds of core, the fastest first; one empty name where all are alike, or nothing is known."""
    allowed: tuple[int, ...] = ()
    """CPUs that this process may use."""
    allowed_memory: tuple[int, ...] = ()
    """NUMA nodes that this process may take memory from."""
    quota: float | None = None
    """CPUs' worth of time that this process's control groups allow; None: there is no limit, or it is not known."""

    def cpu(self, number: int) -> Cpu:
        """Return a CPU; one that is not known has a core of its own, and is on node 0."""
        return self.cpus.get(number) or Cpu(number, core=number)

    def has_memory(self, number: int) -> bool:
        """Return whether this process can take memory from a NUMA node; yes where the kernel shows no nodes."""
        return not self.nodes or number in self._memory()

    def memory_nodes(self, cpus: Sequence[int]) -> tuple[int, ...]:
        """Return the NUMA nodes that memory should be taken from by a program that is pinned to some CPUs.

        Returns the CPUs' own nodes, in order; for a node without memory, the nearest ones that have some. Empty where
        no more than one node of the machine has memory, so that there is nothing to choose.
        """
        if sum(node.memory_bytes != 0 for node in self.nodes) < 2:
            return ()
        return tuple(sorted({near for cpu in cpus for near in self._near(self.cpu(cpu).node)}))

    def least_memory_bytes(self, nodes: Sequence[int]) -> int | None:
        """Return the memory of the smallest of some NUMA nodes; None: of no nodes, or the kernel does not say."""
        sizes = [node.memory_bytes for node in self.nodes if node.number in nodes]
        return min((size for size in sizes if isinstance(size, int)), default=None)

    def _memory(self) -> list[int]:
        return [node.number for node in self.nodes if node.memory_bytes != 0 and node.number in self.allowed_memory]

    def _near(self, number: int) -> list[int]:
        """Return a node itself, where it has memory that may be used; else the nearest that do."""
        usable = self._memory()
        if number in usable:
            return [number]
        distances = next((node.distances for node in self.nodes if node.number == number), {})
        least = min((distances[each] for each in usable if each in distances), default=None)
        return [each for each in usable if least is None or distances.get(each) == least]


def unknown(cpus: Sequence[int]) -> Topology:
    """Return the topology of CPUs of which nothing is known: each has a core of its own, and may be used."""
    return Topology(cpus={number: Cpu(number, core=number) for number in cpus}, allowed=tuple(cpus))


def read(root: Path = ROOT) -> Topology:
    affinity = _affinity(root)
    numbers = online(root) or affinity or ()
    nodes = _nodes(numbers, root)
    node_of = {cpu: node.number for node in nodes for cpu in node.cpus}
    kinds, kind_of = _kinds(numbers, root)
    sets = limits(root)
    quota = sets["CPU limit"]
    return Topology(
        cpus={
            number: Cpu(number, _core(number, root), node_of.get(number, 0), kind_of.get(number, 0))
            for number in numbers
        },
        nodes=nodes,
        kinds=kinds,
        allowed=_within(numbers, affinity, _listed(sets["CPU set"])),
        allowed_memory=_within(
            [node.number for node in nodes],
            _listed(table(root / "proc/self/status").get("Mems_allowed_list", "")),
            _listed(sets["memory nodes"]),
        ),
        quota=quota if isinstance(quota, float) else None,
    )


def placement(pinned: Sequence[int] | None, topology: Topology) -> Facts:
    """Return where workers run: NUMA nodes, kinds of core, and what their cores' other threads do.

    `pinned`: CPUs the workers are pinned to; None: none were chosen.
    """
    kinds = [topology.kinds[kind] for kind in sorted({topology.cpu(number).kind for number in pinned or ()})]
    cores = {(cpu.core, cpu.kind) for cpu in topology.cpus.values()}
    counts = [f"{sum(kind == index for _, kind in cores)} {name}" for index, name in enumerate(topology.kinds)]
    several = len(topology.kinds) > 1
    return {
        "core kinds": ", ".join(counts) if several else "one",
        "core kinds measured on": (", ".join(kinds) if several else "one") if pinned else _NOT_CHOSEN,
        "SMT siblings measured on": _siblings(pinned, topology) if pinned else _NOT_CHOSEN,
        "NUMA nodes measured on": _nodes_of(pinned, topology) if pinned else _NOT_CHOSEN,
    }


def layout(topology: Topology) -> Facts:
    """Return the CPUs and the memory of each NUMA node, and how far the nodes are from one another."""
    if not topology.nodes:
        return dict.fromkeys(("NUMA layout", "NUMA distances"), Absent("the kernel shows no NUMA nodes"))
    rows = [" ".join(map(str, node.distances.values())) for node in topology.nodes]
    alone = len(topology.nodes) == 1  # its memory is the machine's, which grows where a hypervisor adds some
    return {
        "NUMA layout": "; ".join(_cpus_of(node) if alone else _in_words(node) for node in topology.nodes),
        "NUMA distances": "; ".join(rows) if all(rows) else Absent("the kernel does not say"),
    }


def _cpus_of(node: Node) -> str:
    return f"node {node.number}: {f'CPUs {as_text(node.cpus)}' if node.cpus else 'no CPUs'}"


def _in_words(node: Node) -> str:
    """`node 0: CPUs 0-15, 63 GiB`."""
    memory = node.memory_bytes
    size = "memory unknown" if isinstance(memory, Absent) else f"{memory / _GIB:.0f} GiB" if memory else "no memory"
    return f"{_cpus_of(node)}, {size}"


def _siblings(pinned: Sequence[int], topology: Topology) -> str:
    """Return whether the other threads of the pinned CPUs' cores are `idle`, `used`, or there are `none`."""
    cores = {topology.cpu(number).core for number in pinned}
    with_others = {cpu.core for cpu in topology.cpus.values() if cpu.number != cpu.core} & cores
    used = sum(sum(topology.cpu(number).core == core for number in pinned) > 1 for core in with_others)
    if not with_others:
        return "none"
    return {0: "idle", len(cores): "used"}.get(used, f"used on {used} of {len(cores)} cores")


def _nodes_of(pinned: Sequence[int], topology: Topology) -> str | Absent:
    if not topology.nodes:
        return Absent("the kernel shows no NUMA nodes")
    return as_text(tuple({topology.cpu(number).node for number in pinned}))


def _core(number: int, root: Path) -> int:
    shared = _listed(text(root / _CPU / f"cpu{number}/topology/thread_siblings_list"))
    return min(shared) if shared else number


def _nodes(numbers: Sequence[int], root: Path) -> tuple[Node, ...]:
    folders = (folder.name.removeprefix("node") for folder in (root / _NODE).glob("node[0-9]*"))
    found = sorted(int(name) for name in folders if name.isdecimal())
    nodes = tuple(_node(number, found, numbers, root) for number in found)
    total = _MEMORY.search(str(text(root / "proc/meminfo")))
    shown = sum(node.memory_bytes for node in nodes if not isinstance(node.memory_bytes, Absent))
    if total is None or shown >= _LEAST_SHOWN * int(total[1]) * 1024:
        return nodes
    # A hypervisor adds memory while it is used, and the kernel counts what is there now: the size is another soon.
    growing = Absent("the nodes hold less than the machine: a hypervisor adds memory as it is used")
    return tuple(msgspec.structs.replace(node, memory_bytes=growing) if node.memory_bytes else node for node in nodes)


def _node(number: int, nodes: Sequence[int], numbers: Sequence[int], root: Path) -> Node:
    folder = root / _NODE / f"node{number}"
    total = _MEMORY.search(str(text(folder / "meminfo")))
    distances = text(folder / "distance")
    far = [] if isinstance(distances, Absent) else [int(word) for word in distances.split()]
    return Node(
        number=number,
        cpus=_within(numbers, _listed(text(folder / "cpulist")) or ()),
        memory_bytes=int(total[1]) * 1024 if total else Absent("the kernel does not say"),
        distances=dict(zip(nodes, far, strict=True)) if len(far) == len(nodes) else {},
    )


def _kinds(numbers: Sequence[int], root: Path) -> tuple[tuple[str, ...], dict[int, int]]:
    """Return the names of the kinds of core, the fastest first, and the kind of each CPU."""
    by_pmu = {name: _listed(text(root / f"sys/devices/{pmu}/cpus")) for pmu, name in _PMUS.items()}
    listed = {name: set(cpus).intersection(numbers) for name, cpus in by_pmu.items() if cpus}
    kinds = [(name, cpus) for name, cpus in listed.items() if cpus]
    if not kinds:
        kinds = _by_value(numbers, lambda number: integer(root / _CPU / f"cpu{number}/cpu_capacity"), "capacity {}")
    if not kinds:
        frequency = "base frequency {} kHz"
        kinds = _by_value(
            numbers, lambda number: integer(root / _CPU / f"cpu{number}/cpufreq/base_frequency"), frequency
        )
    if len(kinds) < 2:
        return ("",), {}
    return tuple(name for name, _ in kinds), {cpu: index for index, (_, cpus) in enumerate(kinds) for cpu in cpus}


def _by_value(numbers: Sequence[int], value: Callable[[int], int | Absent], name: str) -> list[tuple[str, set[int]]]:
    """Group CPUs by a value of each, the largest first; none where the kernel does not say it of all."""
    values: dict[int, int] = {}
    for number in numbers:
        found = value(number)
        if isinstance(found, Absent):
            return []
        values[number] = found
    kinds: list[tuple[str, set[int]]] = []
    largest = 0
    for number in sorted(numbers, key=lambda each: (-values[each], each)):
        if not kinds or values[number] < _SAME_KIND * largest:
            largest = values[number]
            kinds.append((name.format(largest), set()))
        kinds[-1][1].add(number)
    return kinds


def _affinity(root: Path) -> Sequence[int] | None:
    """Return the CPUs that the scheduler lets this process run on; None: it does not say."""
    if root == ROOT and hasattr(os, "sched_getaffinity"):
        return sorted(os.sched_getaffinity(0))
    return _listed(table(root / "proc/self/status").get("Cpus_allowed_list", ""))


def _listed(content: object) -> tuple[int, ...] | None:
    return cpu_list(content) if isinstance(content, str) and content else None


def _within(numbers: Sequence[int], *sets: Sequence[int] | None) -> tuple[int, ...]:
    """Return the numbers that are in every set that is known."""
    known = [set(each) for each in sets if each is not None]
    return tuple(number for number in numbers if all(number in each for each in known))
