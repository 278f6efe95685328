"""Disk, memory and CPUs, judged before a run."""

import shutil
from pathlib import Path

import pytest

from suite.machine import room
from suite.machine.findings import Needs
from suite.machine.topology import Topology
from tests.machine.folders import V2, write
from tests.machine.recorded import machine


@pytest.mark.parametrize(("free", "state"), [(1 << 30, "bad"), (5 << 30, "warn"), (50 << 30, "ok")])
def test_disk(tmp_path: Path, free: int, state: str) -> None:
    assert room.disk(tmp_path, free, Needs()).state == state


def test_one_disk_is_reported_once_and_folders_need_not_be_there(tmp_path: Path) -> None:
    found = room.disks(Needs(folders=(str(tmp_path), str(tmp_path / "not/yet"))))
    assert len(found) == 1
    told_gib = float(found[0].message.split()[0])
    assert told_gib == pytest.approx(shutil.disk_usage(tmp_path).free / 2**30, abs=4.0), "others use the disk, too"


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
