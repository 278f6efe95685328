"""The topology of machines, recorded on real ones, and what a run is pinned to there."""

from pathlib import Path

import pytest

from levelfield.errors import LevelfieldError
from levelfield.machine.topology import Topology, layout, placement, read
from levelfield.plan import cpu_pinning
from levelfield.record.cpu_lists import as_text
from tests.machine.folders import write
from tests.machine.recorded import FOLDER, machine

MACHINES = sorted(file.stem for file in FOLDER.glob("*.txt"))
HYBRID = "hybrid-i7-1370p"


def recorded(name: str, root: Path) -> Topology:
    return read(machine(name, root))


@pytest.mark.parametrize("name", MACHINES)
def test_a_run_fits_into_one_node_and_one_kind_of_core(name: str, tmp_path: Path) -> None:
    topology = recorded(name, tmp_path)
    for cpu in topology.cpus.values():
        core = topology.cpus[cpu.core]
        assert (core.node, core.kind) == (cpu.node, cpu.kind)
    pool = cpu_pinning.pool((), topology)
    assert len({(topology.cpu(cpu).node, topology.cpu(cpu).kind) for cpu in pool.cpus}) == 1
    chosen = cpu_pinning.pinned(pool.cores, pool.cpus, topology)
    assert len({topology.cpu(cpu).core for cpu in chosen}) == pool.cores
    assert placement(chosen, topology)["SMT siblings measured on"] in {"idle", "none"}
    assert all(map(topology.has_memory, topology.memory_nodes(chosen)))
    assert set(cpu_pinning.pool("all", topology).cpus) == set(topology.allowed)
    if len(pool.cpus) < len(topology.allowed):
        with pytest.raises(LevelfieldError, match="--cpus all"):
            cpu_pinning.counts((len(topology.allowed),), pool)


CHOICES = (
    ("name", "allowed", "cores", "cpus", "memory"),
    [
        ("xeon-2-sockets", "0-15", 8, "0-7", (0,)),
        # Numbered across the nodes; the second threads of the cores are the CPUs from 40.
        ("xeon-2-sockets-4-nodes", "0-79", 10, "0,4,8,12,16,20,24,28,32,36", (0,)),
        # CPUs with even numbers are of the node that is switched off: nine, and without memory of their own.
        ("xeon-offline", "4-20", 8, "5,7,9,11,13,15,17,19", ()),
        ("epyc-2-sockets-8-nodes", "0-95", 6, "0-5", (0,)),
        (HYBRID, "0-19", 6, "0,2,4,6,8,10", ()),
        ("arm-gb10", "0-19", 10, "5-9,15-19", ()),
        ("arm-x3-a710-a510", "0-7", 1, "7", ()),
        ("kunpeng-920-4-nodes", "0-127", 32, "0-31", (0,)),
        ("power9-gpu-memory", "0-15", 4, "0,4,8,12", (0,)),
        # The job has four CPUs of one node and two of the next.
        ("opteron-slurm-step", "0-5", 4, "0-3", (0,)),
        # Nodes 0 and 6 have two allowed CPUs too, and their memory is not allowed.
        ("opteron-cpuset", "0-3,5-6,12-15", 2, "2-3", (1,)),
        ("opteron-memory-elsewhere", "0-3", 4, "0-3", (2, 3)),
        ("virtual-machine", "0-1", 2, "0-1", ()),
    ],
)


@pytest.mark.parametrize(*CHOICES)
def test_what_a_run_is_pinned_to(
    name: str, allowed: str, cores: int, cpus: str, memory: tuple[int, ...], tmp_path: Path
) -> None:
    topology = recorded(name, tmp_path)
    pool = cpu_pinning.pool((), topology)
    chosen = cpu_pinning.pinned(pool.cores, pool.cpus, topology)
    assert (as_text(topology.allowed), pool.cores, as_text(chosen)) == (allowed, cores, cpus)
    assert topology.memory_nodes(chosen) == memory


def test_what_does_not_fit_into_one_kind_of_core_is_refused(tmp_path: Path) -> None:
    topology = recorded(HYBRID, tmp_path)
    says = r"12 CPUs of one kind of core \(base frequency 1900000 kHz\)\. .*--cpus all"
    with pytest.raises(LevelfieldError, match=says):
        cpu_pinning.counts((13,), cpu_pinning.pool((), topology))
    assert cpu_pinning.counts((13,), cpu_pinning.pool("all", topology)) == (13,)


def test_more_threads_than_cores_use_the_siblings_of_the_same_node(tmp_path: Path) -> None:
    topology = recorded("epyc-2-sockets-8-nodes", tmp_path)
    pool = cpu_pinning.pool((), topology)
    chosen = cpu_pinning.pinned(8, pool.cpus, topology)
    assert as_text(chosen) == "0-5,48-49"
    assert placement(chosen, topology)["SMT siblings measured on"] == "used on 2 of 6 cores"
    assert placement(pool.cpus, topology)["SMT siblings measured on"] == "used"


def test_counters_tell_the_kinds_of_an_intel_processor_before_its_frequencies_do(tmp_path: Path) -> None:
    """The recording lacks these lists; they are those of this processor."""
    root = machine(HYBRID, tmp_path)
    assert read(root).kinds == ("base frequency 1900000 kHz", "base frequency 1400000 kHz")
    topology = read(write(root, {"sys/devices/cpu_core/cpus": "0-11\n", "sys/devices/cpu_atom/cpus": "12-19\n"}))
    assert topology.kinds == ("performance", "efficiency")
    assert as_text(cpu_pinning.pool((), topology).cpus) == "0-11"
    facts = placement((0, 2), topology)
    assert (facts["core kinds"], facts["core kinds measured on"]) == ("6 performance, 8 efficiency", "performance")
    assert placement((0, 12), topology)["core kinds measured on"] == "performance, efficiency"
    one = read(write(root, {"sys/devices/cpu_core/cpus": "0-19\n", "sys/devices/cpu_atom/cpus": "\n"}))
    assert one.kinds == ("",), "its efficiency cores are switched off"


def test_a_node_without_memory_takes_that_of_the_nearest(tmp_path: Path) -> None:
    root = machine("kunpeng-920-4-nodes", tmp_path)
    node = "sys/devices/system/node/node2"
    topology = read(write(root, {f"{node}/meminfo": "Node 2 MemTotal: 0 kB\n"}))
    assert not topology.has_memory(2)
    assert topology.memory_nodes((64, 65)) == (3,), "16 away; the nodes of the other socket are 25 and 32 away"
    assert as_text(cpu_pinning.pool(tuple(range(60, 100)), topology).cpus[:8]) == "60-63,96-99"
    (write(root, {f"{node}/distance": ""}) / f"{node}/distance").unlink()
    assert read(root).memory_nodes((64,)) == (0, 1, 3), "how far they are is not known"


def test_a_machine_of_one_node_whose_memory_grows_is_the_same_machine(tmp_path: Path) -> None:
    """A hypervisor adds memory as it is used: the node then holds more than it did."""
    node = "sys/devices/system/node/node0"
    files = {f"{node}/cpulist": "0-1\n", "sys/devices/system/cpu/online": "0-1\n", "proc/meminfo": "MemTotal: 900 kB\n"}
    small = layout(read(write(tmp_path, {**files, f"{node}/meminfo": "Node 0 MemTotal: 300 kB\n"})))
    assert small == layout(read(write(tmp_path, {f"{node}/meminfo": "Node 0 MemTotal: 900 kB\n"})))
    assert small["NUMA layout"] == "node 0: CPUs 0-1"
