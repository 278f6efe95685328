"""Limits of control groups along the whole path, in version 1, version 2 and both."""

import contextlib
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from levelfield.machine import control_groups
from levelfield.machine.signals import Signals, difference
from tests.commands import python
from tests.machine.folders import V2, write

V1 = (
    "32 31 0:29 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n"
    "35 31 0:32 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n"
    "34 31 0:31 / /sys/fs/cgroup/cpuset rw - cgroup cgroup rw,cpuset\n"
    "40 31 0:37 / /sys/fs/cgroup/systemd rw - cgroup cgroup rw,xattr,name=systemd\n"
)


def test_the_tightest_limit_of_the_path_counts_in_version_two(tmp_path: Path) -> None:
    write(
        tmp_path,
        {
            "proc/self/mountinfo": f"23 1 8:1 / / rw - ext4 /dev/sda1 rw\n{V2}",
            "proc/self/cgroup": "0::/user.slice/job/step\n",
            "sys/fs/cgroup/user.slice/cpu.max": "150000 100000\n",
            "sys/fs/cgroup/user.slice/job/cpu.max": "40000 10000\n",
            "sys/fs/cgroup/user.slice/job/step/cpu.max": "max 100000\n",
            "sys/fs/cgroup/user.slice/memory.max": "8589934592\n",
            "sys/fs/cgroup/user.slice/memory.high": "4294967296\n",
            "sys/fs/cgroup/user.slice/job/step/memory.max": "max\n",
            "sys/fs/cgroup/cpuset.cpus.effective": "0-7\n",
            "sys/fs/cgroup/user.slice/job/cpuset.cpus.effective": "0-3\n",
            "sys/fs/cgroup/user.slice/cpuset.mems.effective": "1\n",
        },
    )
    assert control_groups.limits(tmp_path) == {
        "cgroup version": 2, "CPU limit": 1.5, "memory limit bytes": 4 << 30, "CPU set": "0-3", "memory nodes": "1",
    }  # fmt: skip
    files = [str(file.relative_to(tmp_path)) for file in control_groups.throttling_files(tmp_path)]
    assert files == ["sys/fs/cgroup/user.slice/job/cpu.stat", "sys/fs/cgroup/user.slice/cpu.stat"]


def test_the_tightest_limit_of_the_path_counts_in_version_one(tmp_path: Path) -> None:
    write(
        tmp_path,
        {
            "proc/self/mountinfo": V1,
            "proc/self/cgroup": "4:cpu,cpuacct:/pod/job\n3:memory:/pod/job\n2:cpuset:/\n1:name=systemd:/\n",
            "sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us": "-1\n",
            "sys/fs/cgroup/cpu,cpuacct/pod/cpu.cfs_quota_us": "75000\n",
            "sys/fs/cgroup/cpu,cpuacct/pod/cpu.cfs_period_us": "50000\n",
            "sys/fs/cgroup/cpu,cpuacct/pod/job/cpu.cfs_quota_us": "-1\n",
            "sys/fs/cgroup/memory/memory.limit_in_bytes": "9223372036854771712\n",
            "sys/fs/cgroup/memory/pod/memory.limit_in_bytes": "1073741824\n",
            "sys/fs/cgroup/memory/pod/job/memory.limit_in_bytes": "2147483648\n",
            "sys/fs/cgroup/cpuset/cpuset.effective_cpus": "0-1\n",
            "sys/fs/cgroup/cpuset/cpuset.effective_mems": "0\n",
        },
    )
    assert control_groups.limits(tmp_path) == {
        "cgroup version": 1, "CPU limit": 1.5, "memory limit bytes": 1 << 30, "CPU set": "0-1", "memory nodes": "0",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("top", "own", "found"),
    [
        ("/", "/", [""]),  # a namespace of its own
        ("/", "/../other", [""]),  # moved out of its namespace
        ("/docker/1f", "/docker/1f", [""]),  # no namespace: the mount begins at the container's group
        ("/docker/1f", "/docker/1f/init", ["init", ""]),
        ("/docker/1f", "/docker/2e", [""]),
    ],
)
def test_in_a_container_the_path_is_what_is_mounted_there(tmp_path: Path, top: str, own: str, found: list[str]) -> None:
    mount = V2.replace(" / /sys", f" {top} /sys")
    write(tmp_path, {"proc/self/mountinfo": mount, "proc/self/cgroup": f"0::{own}\n"})
    assert control_groups.groups("cpu", tmp_path) == [tmp_path / "sys/fs/cgroup" / name for name in found]


@contextlib.contextmanager
def parent_with_quota(cpus: float) -> Iterator[Path]:
    """Make a group with a quota and one below it without any; yield the lower one's folder."""
    parent = control_groups.groups("cpu")[-1] / f"levelfield-test-{os.getpid()}"
    lower = parent / "lower"
    try:
        lower.mkdir(parents=True)
        if (lower / "cpu.cfs_quota_us").exists():
            (parent / "cpu.cfs_quota_us").write_text(f"{int(cpus * 20_000)}")
            (parent / "cpu.cfs_period_us").write_text("20000")
        else:
            (parent / "cpu.max").write_text(f"{int(cpus * 20_000)} 20000")
    except OSError as error:
        _remove(lower, parent)
        pytest.skip(f"no control group can be made here: {error}")
    try:
        yield lower
    finally:
        _remove(lower, parent)


def _remove(*groups: Path) -> None:
    for group in groups:
        with contextlib.suppress(OSError):
            group.rmdir()


ENTER = "import os, sys; open(sys.argv[1] + '/cgroup.procs', 'w').write(str(os.getpid()))\n"
LIMITS = """
from levelfield.machine.topology import read
from levelfield.plan import cpu_pinning
print(read().quota, *cpu_pinning.counts((), cpu_pinning.pool((), read())))
"""
BUSY = """
import time
end = time.process_time() + 0.05
while time.process_time() < end:
    pass
print("done", flush=True)
input()
"""


def inside(quota: float, program: str) -> str:
    """Run a program in a group whose parent has a quota; return what it prints."""
    with parent_with_quota(quota) as lower:
        return python(ENTER + program, lower).strip()


def test_a_real_quota_of_a_parent_group_limits_the_threads() -> None:
    assert inside(1.5, LIMITS) == "1.5 1"


def test_throttling_of_a_worker_by_a_real_quota_above_its_group_is_counted() -> None:
    program = [sys.executable, "-c", f"{ENTER}print('in', flush=True)\ninput()\n{BUSY}"]
    with parent_with_quota(0.05) as lower, Signals() as signals:
        pipe, command = subprocess.PIPE, [*program, str(lower)]
        with subprocess.Popen(command, text=True, bufsize=1, stdin=pipe, stdout=pipe) as worker:
            assert worker.stdin is not None
            assert worker.stdout is not None
            assert worker.stdout.readline() == "in\n"
            before = signals.snapshot({"arm": worker.pid})
            worker.stdin.write("\n")
            assert worker.stdout.readline() == "done\n"
            noise = difference(before, signals.snapshot({"arm": worker.pid}), "arm")
            worker.stdin.write("\n")
    assert isinstance(noise.quota_throttled, int)
    assert noise.quota_throttled > 0, "so little that a busy machine gives more"


def test_it_is_within_what_control_groups_allow(tmp_path: Path) -> None:
    write(
        tmp_path,
        {"proc/self/mountinfo": V2, "proc/self/cgroup": "0::/pod/job", "sys/fs/cgroup/pod/memory.max": f"{4 << 30}"},
    )
    assert control_groups.limit_bytes(8 << 30, tmp_path) == 3 << 30
