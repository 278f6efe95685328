"""Which CPUs workers are pinned to."""

import msgspec
import pytest

from levelfield.errors import LevelfieldError
from levelfield.machine.topology import Cpu, Node, Topology
from levelfield.plan import cpu_pinning

SMT = Topology(cpus={number: Cpu(number, core=number % 4) for number in range(8)}, allowed=tuple(range(8)))
"""Four cores with two threads each, numbered as Linux usually does."""
GIB = 1 << 30


def nodes(*sizes: int, memory_bytes: int = GIB) -> Topology:
    """Nodes of so many cores with two threads each: all first threads are counted before all second ones."""
    cores = [(node, core) for node, size in enumerate(sizes) for core in range(size)]
    cpus = {
        thread * len(cores) + index: Cpu(thread * len(cores) + index, core=index, node=node)
        for thread in range(2)
        for index, (node, _) in enumerate(cores)
    }
    return Topology(
        cpus=cpus,
        nodes=tuple(
            Node(number, tuple(cpu.number for cpu in cpus.values() if cpu.node == number), memory_bytes, {})
            for number in range(len(sizes))
        ),
        allowed=tuple(cpus),
        allowed_memory=tuple(range(len(sizes))),
    )


@pytest.mark.parametrize(("quota", "threads"), [(0.4, 1), (1.5, 1), (3.0, 3), (6.0, 4)])
def test_threads_that_nobody_named_are_within_a_quota(quota: float, threads: int) -> None:
    limited = cpu_pinning.pool((), msgspec.structs.replace(SMT, quota=quota))
    assert cpu_pinning.counts((), limited) == (threads,)
    assert cpu_pinning.counts((8,), limited) == (8,), "who names a number gets it"


@pytest.mark.parametrize(
    ("asked", "message", "fix"),
    [
        ((1, 0), "0 threads cannot compute anything", "at least 1"),
        ((-3,), "-3 threads", "at least 1"),
        ((1, 9), "9 threads were asked for, and this process may use 8 CPUs.", "--threads 8 or fewer: more threads"),
        ((2, 4, 2), "--threads names 2 twice", "--threads 2,4."),
    ],
)
def test_impossible_numbers_say_why(asked: tuple[int, ...], message: str, fix: str) -> None:
    with pytest.raises(LevelfieldError) as caught:
        cpu_pinning.counts(asked, cpu_pinning.pool((), SMT))
    assert message in caught.value.message
    assert fix in caught.value.fix


@pytest.mark.parametrize(
    ("threads", "cpus"),
    [(1, (0,)), (2, (0, 1)), (4, (0, 1, 2, 3)), (5, (0, 1, 2, 3, 4)), (8, tuple(range(8))), (20, tuple(range(8)))],
)
def test_one_of_every_core_first(threads: int, cpus: tuple[int, ...]) -> None:
    assert cpu_pinning.pinned(threads, range(8), SMT) == cpus


def test_what_fits_into_no_node_is_refused_unless_all_are_asked_for() -> None:
    topology = nodes(2, 2)
    pool = cpu_pinning.pool((), topology)
    with pytest.raises(LevelfieldError) as caught:
        cpu_pinning.counts((5,), pool)
    assert caught.value.message == (
        "5 threads were asked for, and this process may use 4 CPUs in one NUMA node (node 0)."
    )
    assert "Choose --threads 4 or fewer, or add --cpus all, which lifts this limit" in caught.value.fix
    with pytest.raises(LevelfieldError) as caught:
        cpu_pinning.counts((9,), pool)
    assert "--cpus" not in caught.value.fix, "all CPUs of the machine are too few for it"
    everything = cpu_pinning.pool("all", topology)
    assert everything.cpus == (0, 1, 2, 3, 4, 5, 6, 7), "cores first, node by node"
    assert cpu_pinning.counts((5,), everything) == (5,)
    assert cpu_pinning.counts((), everything) == (4,)


def test_cpus_that_may_not_be_used_are_refused() -> None:
    allowed = Topology(cpus=SMT.cpus, allowed=(0, 1, 4))
    with pytest.raises(LevelfieldError) as caught:
        cpu_pinning.pool((0, 2, 3, 99), allowed)
    assert caught.value.message == "--cpus names 2-3,99, and this process may use 0-1,4."


@pytest.mark.parametrize(
    ("topology", "processes", "threads", "divided"),
    [
        (SMT, 2, 4, 0),
        (SMT, 4, 2, 0),
        (SMT, 2, 3, 0),
        (SMT, 2, 2, 0),
        (SMT, 3, 2, 0),
        (nodes(3), 2, 3, 1),
        (nodes(4, 4), 2, 4, 0),
        (nodes(4, 4), 2, 8, 0),
        (nodes(3, 3), 3, 4, 0),
    ],
)
def test_processes_share_no_core_where_none_need_be(
    topology: Topology, processes: int, threads: int, divided: int
) -> None:
    cpus = cpu_pinning.pinned(processes * threads, topology.allowed, topology)
    ordered = cpu_pinning.in_shares(cpus, processes, topology)
    assert sorted(ordered) == list(cpus)
    shares = [ordered[rank * threads : (rank + 1) * threads] for rank in range(processes)]
    cores = [{topology.cpu(cpu).core for cpu in share} for share in shares]
    assert sum(map(len, cores)) - len(set.union(*cores)) == divided
