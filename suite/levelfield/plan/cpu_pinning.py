"""Which CPUs workers are pinned to: whole cores first, of one kind and in one NUMA node unless the user names CPUs."""

from collections.abc import Sequence
from typing import Literal, TypeAlias

import msgspec

from levelfield.errors import LevelfieldError
from levelfield.machine.topology import Topology
from levelfield.names import plural
from levelfield.plan.names import rising
from levelfield.record.cpu_lists import as_text

Requested: TypeAlias = tuple[int, ...] | Literal["all"]
"""CPUs that a user names, or all that this process may use; none: those of one NUMA node and one kind of core."""


class Pool(msgspec.Struct, frozen=True):
    """The CPUs that the workers of a run may be pinned to."""

    cpus: tuple[int, ...]
    """In the order in which they are taken."""
    cores: int
    """Those that can compute all the time: no more than a quota of a control group allows."""
    allowed: int
    """How many CPUs this process may use, those outside the pool among them."""
    limits: tuple[str, ...] = ()
    """Why the pool has no more of them, in words: `in one NUMA node (node 0)`."""

    def too_small(self, asked: str, needed: int, *, choose: str, why: str) -> LevelfieldError:
        """Return the error that a pool has too few CPUs."""
        where = "".join(f" {limit}" for limit in self.limits)
        wider = ", or add --cpus all, which lifts this limit" if self.limits and needed <= self.allowed else ""
        return LevelfieldError(
            f"{asked}, and this process may use {plural(len(self.cpus), 'CPU')}{where}.",
            fix=f"Choose {choose} or fewer{wider}: {why}.",
        )


def pool(requested: Requested, topology: Topology) -> Pool:
    """Choose the CPUs that a run may use.

    `requested`: CPUs that the user named, or all. None named: of the CPUs that this process may use, those of one NUMA
    node: the one with the most cores, and of equal nodes the one with the lowest number; nodes without memory come
    last. Of these, the ones of the fastest kind of core. Raises LevelfieldError: a CPU is named that this process may
    not use.
    """
    named = topology.allowed if requested == "all" else requested
    refused = tuple(sorted(set(named).difference(topology.allowed)))
    if refused:
        raise LevelfieldError(
            f"--cpus names {as_text(refused)}, and this process may use {as_text(topology.allowed)}.",
            fix="Choose among these: a container, a scheduler or taskset decides which they are.",
        )
    cpus = _in_order(named or topology.allowed, topology)
    limits: list[str] = []
    if not named:
        node = topology.cpu(cpus[0]).node
        inside = [cpu for cpu in cpus if topology.cpu(cpu).node == node]
        if len(inside) < len(cpus):
            limits.append(f"in one NUMA node (node {node})")
        kind = topology.cpu(inside[0]).kind
        cpus = [cpu for cpu in inside if topology.cpu(cpu).kind == kind]
        if len(cpus) < len(inside):
            limits.append(f"of one kind of core ({topology.kinds[kind]})")
    cores = len({topology.cpu(cpu).core for cpu in cpus})
    if topology.quota is not None:
        cores = max(1, min(cores, int(topology.quota)))
    return Pool(tuple(cpus), cores, len(topology.allowed), tuple(limits))


def counts(requested: Sequence[int], pool: Pool) -> tuple[int, ...]:
    """Return the numbers of threads to measure with, in rising order.

    `requested`: numbers that the user named; empty: one thread for every core that can compute all the time. Raises
    LevelfieldError: a number is below one, above that of the CPUs, or named twice.
    """
    if not requested:
        return (pool.cores,)
    for threads in requested:
        if threads < 1:
            raise LevelfieldError(
                f"{threads} threads cannot compute anything.", fix="Choose at least 1 with --threads."
            )
        if threads > len(pool.cpus):
            raise pool.too_small(
                f"{threads} threads were asked for",
                threads,
                choose=f"--threads {len(pool.cpus)}",
                why="more threads than CPUs measure the scheduler",
            )
    return rising("--threads", requested)


def pinned(threads: int, cpus: Sequence[int], topology: Topology) -> tuple[int, ...]:
    """Choose CPUs to pin workers to, one of every core first, those of one NUMA node before those of the next."""
    return tuple(sorted(_in_order(cpus, topology)[:threads]))


def in_shares(cpus: Sequence[int], processes: int, topology: Topology) -> tuple[int, ...]:
    """Order CPUs so that equal shares of them divide as few cores and NUMA nodes as possible."""
    of_core: dict[tuple[int, int], list[int]] = {}
    for number in sorted(cpus):
        cpu = topology.cpu(number)
        of_core.setdefault((cpu.node, cpu.core), []).append(number)
    # Cores of which several threads are used come first in each node: a share is filled up with the others.
    waiting = [of_core[key] for key in sorted(of_core, key=lambda key: (key[0], -len(of_core[key]), key[1]))]
    ordered: list[int] = []
    for _ in range(processes):
        room = len(cpus) // processes
        while room:
            core = next((each for each in waiting if len(each) <= room), waiting[0])
            ordered += core[:room]
            waiting[waiting.index(core)] = rest = core[room:]
            room -= len(core) - len(rest)
            waiting = [each for each in waiting if each]
    return (*ordered, *(number for core in waiting for number in core))


def _in_order(cpus: Sequence[int], topology: Topology) -> list[int]:
    """Return CPUs in the order in which they are taken: a thread of each core, by kind and node, then the others."""
    thread: dict[int, int] = {}
    threads_of: dict[int, int] = {}
    for number in sorted(cpus):
        core = topology.cpu(number).core
        thread[number] = threads_of.get(core, 0)
        threads_of[core] = thread[number] + 1
    firsts = [topology.cpu(number) for number in cpus if thread[number] == 0]
    fastest = min((cpu.kind for cpu in firsts), default=0)
    cores_of: dict[int, int] = {}
    for cpu in firsts:
        cores_of[cpu.node] = cores_of.get(cpu.node, 0) + (cpu.kind == fastest)
    nodes = sorted(cores_of, key=lambda node: (not topology.has_memory(node), -cores_of[node], node))

    def place(number: int) -> tuple[int, int, int, int]:
        cpu = topology.cpu(number)
        return thread[number], cpu.kind, nodes.index(cpu.node), number

    return sorted(cpus, key=place)
