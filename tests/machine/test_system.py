"""Limits and containers around this process."""

from pathlib import Path

import pytest

from suite.machine import system
from tests.machine.folders import write


def test_limits_of_control_groups_version_two(tmp_path: Path) -> None:
    write(
        tmp_path,
        {
            "sys/fs/cgroup/cgroup.controllers": "cpu memory",
            "proc/self/cgroup": "0::/user.slice",
            "sys/fs/cgroup/user.slice/cpu.max": "150000 100000",
            "sys/fs/cgroup/user.slice/memory.max": "max",
            "sys/fs/cgroup/cpuset.cpus.effective": "0-3",
            "sys/fs/cgroup/user.slice/cpuset.mems.effective": "1",
        },
    )
    assert system.limits(tmp_path) == {
        "cgroup version": 2,
        "CPU limit": 1.5,
        "memory limit bytes": "none",
        "CPU set": "0-3",
        "memory nodes": "1",
    }


def test_limits_of_control_groups_version_one(tmp_path: Path) -> None:
    write(
        tmp_path,
        {
            "proc/self/cgroup": "3:cpu,cpuacct:/job\n2:memory:/job\n",
            "sys/fs/cgroup/cpu/job/cpu.cfs_quota_us": "-1",
            "sys/fs/cgroup/cpu/job/cpu.cfs_period_us": "100000",
            "sys/fs/cgroup/memory/job/memory.limit_in_bytes": "1073741824",
            "sys/fs/cgroup/cpuset/cpuset.effective_cpus": "0-1",
            "sys/fs/cgroup/cpuset/cpuset.effective_mems": "0",
        },
    )
    facts = system.limits(tmp_path)
    assert facts["CPU limit"] == "none"
    assert facts["memory limit bytes"] == 1 << 30
    assert facts["CPU set"] == "0-1"
    assert facts["memory nodes"] == "0"


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({".dockerenv": ""}, "docker"),
        ({"run/.containerenv": ""}, "podman"),
        ({"run/systemd/container": "lxc\n"}, "lxc"),
        ({}, "none"),
    ],
)
def test_containers_are_known_by_their_marks(tmp_path: Path, files: dict[str, str], expected: str) -> None:
    assert system.container(write(tmp_path, files)) == expected
