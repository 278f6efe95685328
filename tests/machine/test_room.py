"""Disk, memory and CPUs, judged before a run."""

import shutil
from pathlib import Path

import pytest

from levelfield.machine import room
from levelfield.machine.findings import Needs
from levelfield.machine.topology import Topology
from tests.conftest import mounted
from tests.machine.folders import V2, write
from tests.machine.recorded import machine


@pytest.mark.parametrize(
    ("options", "needed_bytes", "state", "says"),
    [
        ("2m", 1 << 20, "ok", "still to be made takes"),
        ("2m", 4 << 20, "bad", "free at"),
        ("64m,nr_inodes=20", 2 << 20, "bad", "only 19 inodes are free"),
        ("2m,ro", 1 << 20, "bad", "mounted read-only"),
    ],
)
def test_a_disk_has_what_this_very_plan_needs(
    tmp_path: Path, options: str, needed_bytes: int, state: str, says: str
) -> None:
    with mounted(tmp_path / "disk", options) as folder:
        found = room.disk(folder, needed_bytes)
    assert found.state == state
    assert says in found.message


def test_folders_on_one_disk_are_added_up_and_need_not_be_there(tmp_path: Path) -> None:
    free = shutil.disk_usage(tmp_path).free
    half = int(free * 0.6)
    (found,) = room.disks(Needs(folders={tmp_path: half, tmp_path / "not/yet": half}))
    assert found.state == "bad"
    assert room.disks(Needs(folders={tmp_path: half}))[0].state == "ok"


@pytest.mark.parametrize(
    ("available_kb", "limit", "state"),
    [(16 << 20, "max", "ok"), (1 << 20, "max", "warn"), (16 << 20, str(1 << 30), "warn")],
)
def test_memory_is_what_is_available_within_the_limit(
    tmp_path: Path, available_kb: int, limit: str, state: str
) -> None:
    write(
        tmp_path,
        {
            "proc/meminfo": f"MemTotal: 1 kB\nMemAvailable: {available_kb} kB\n",
            "proc/self/cgroup": "0::/job\n",
            "proc/self/mountinfo": V2,
            "sys/fs/cgroup/job/memory.max": limit,
        },
    )
    assert room.memory(Needs(), tmp_path).state == state


def test_memory_that_is_not_told_is_no_zero(tmp_path: Path) -> None:
    assert "not known" in room.memory(Needs(), tmp_path).message


@pytest.mark.parametrize(
    ("there", "allowed", "quota", "state", "words"),
    [
        ((0, 1), (0, 1), None, "ok", "2 (0-1)"),
        ((0, 1, 2, 3), (2, 3), None, "ok", "2 of 4 may be used (2-3)"),
        ((0, 1), (0, 1), 0.5, "warn", "quota of 0.5 CPUs on 2"),
        ((0,), (0,), None, "warn", "Only one CPU"),
        ((0, 1), (1,), None, "warn", "Only one CPU"),
        ((0, 1, 2, 3), (2, 3), 2.0, "ok", "2 of 4 may be used (2-3)"),
    ],
)
def test_cpus(there: tuple[int, ...], allowed: tuple[int, ...], quota: float | None, state: str, words: str) -> None:
    finding = room.cpus_allowed(there, Topology(allowed=allowed, quota=quota))
    assert finding.state == state
    assert words in finding.message


def test_numa_nodes_are_listed_where_there_are_several(tmp_path: Path) -> None:
    (finding,) = room.nodes(machine("xeon-2-sockets", tmp_path / "two"))
    assert finding.state == "ok"
    assert "2 nodes (node 0: CPUs " in finding.message
    assert room.nodes(write(tmp_path, {"sys/devices/system/node/online": "0"})) == []
