import getpass
import platform
import re
from pathlib import Path

import msgspec
import pytest

from suite.machine import cpu, engine, kernel, system
from suite.machine.fingerprint import changed, fingerprint
from suite.record.schema import Absent, Fingerprint

PRIVATE = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}|\b(?:\d{1,3}\.){3}\d{1,3}:\d+")


def write(root: Path, files: dict[str, str]) -> Path:
    for name, content in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(content)
    return root


@pytest.fixture(scope="module")
def machine() -> Fingerprint:
    return fingerprint()


def test_this_machine_has_a_fingerprint_that_a_record_can_hold(machine: Fingerprint) -> None:
    assert msgspec.json.decode(msgspec.json.encode(machine), type=Fingerprint) == machine
    assert {"cpu", "memory", "kernel", "virtualisation", "system", "limits", "engine", "gpu", "signals"} <= set(machine)


def test_what_it_says_of_this_machine_is_so(machine: Fingerprint) -> None:
    assert machine["kernel"]["release"] == platform.release()
    assert machine["system"]["Python"] == platform.python_version()
    page_total = Path("/proc/meminfo").read_text().split()[1]
    assert machine["memory"]["total bytes"] == int(page_total) * 1024
    assert machine["cpu"]["threads"] == Path("/proc/cpuinfo").read_text().count("processor\t:")


def test_nothing_is_zero_for_want_of_knowing(machine: Fingerprint) -> None:
    for group in machine.values():
        for value in group.values():
            assert value != ""
            if isinstance(value, Absent):
                assert len(value.reason) > 5


def test_names_are_left_out_unless_asked_for(machine: Fingerprint) -> None:
    assert "identity" not in machine
    assert not PRIVATE.search(msgspec.json.encode(machine).decode())
    known = fingerprint(identify=True)
    assert known["identity"] == {"host": platform.node(), "user": getpass.getuser()}


def test_the_same_machine_has_not_changed(machine: Fingerprint) -> None:
    assert changed(machine, fingerprint()) == []


def test_what_changed_is_said() -> None:
    before: Fingerprint = {"cpu": {"microcode": "1", "model": "X"}, "kernel": {"timer step ns": 50}}
    after: Fingerprint = {"cpu": {"microcode": Absent("hidden"), "model": "X"}, "kernel": {"timer step ns": 40}}
    assert changed(before, after) == ["cpu, microcode: 1 became unknown (hidden)"]


def test_an_empty_root_is_all_absent_and_never_fails(tmp_path: Path) -> None:
    assert all(isinstance(value, Absent) for value in kernel.memory(tmp_path).values())
    assert isinstance(cpu.caches(tmp_path)["caches"], Absent)
    assert isinstance(cpu.cpu(root=tmp_path)["model"], Absent)
    assert all(isinstance(value, Absent) for value in system.limits(tmp_path).values())
    assert isinstance(system.virtualisation(tmp_path)["hypervisor"], Absent)
    assert isinstance(kernel.kernel(tmp_path)["boot parameters"], Absent)


def test_two_sockets_with_smt(tmp_path: Path) -> None:
    files = {"sys/devices/system/cpu/online": "0-7", "sys/devices/system/cpu/smt/active": "1"}
    for number in range(8):
        folder = f"sys/devices/system/cpu/cpu{number}"
        files |= {
            f"{folder}/topology/physical_package_id": str(number // 2 % 2),
            f"{folder}/topology/core_id": str(number % 2),
            f"{folder}/topology/thread_siblings_list": f"{number % 4},{number % 4 + 4}",
            f"{folder}/cache/index3/level": "3",
            f"{folder}/cache/index3/type": "Unified",
            f"{folder}/cache/index3/size": "32768K",
            f"{folder}/cache/index3/shared_cpu_list": f"socket {number // 2 % 2}",
        }
    facts = cpu.cpu((0, 1), write(tmp_path, files))
    assert (facts["sockets"], facts["cores"], facts["threads"]) == (2, 4, 8)
    assert facts["SMT active"] is True
    assert facts["L3 cache"] == "32768 KiB x 2"
    assert facts["CPUs measured on"] == "0-1"
    assert cpu.siblings((0, 1), tmp_path) == (0, 1, 4, 5)


def test_the_governor_of_real_metal(tmp_path: Path) -> None:
    policy = "sys/devices/system/cpu/cpu0/cpufreq"
    write(
        tmp_path,
        {
            "sys/devices/system/cpu/online": "0",
            f"{policy}/scaling_governor": "powersave",
            f"{policy}/scaling_driver": "intel_pstate",
            f"{policy}/scaling_min_freq": "800000",
            f"{policy}/scaling_max_freq": "4200000",
            "sys/devices/system/cpu/intel_pstate/no_turbo": "0",
        },
    )
    facts = cpu.clock(tmp_path)
    assert facts["governor"] == "powersave"
    assert facts["maximum kHz"] == 4_200_000
    assert facts["boost"] is True
    assert isinstance(facts["preference"], Absent)


def test_boot_parameters_keep_speed_and_drop_identity() -> None:
    line = (
        "BOOT_IMAGE=/boot/vmlinuz-6.1 root=UUID=3e5ab0ff-9a3c-4be2-8a6b-1d9bfc0ae0f7 ro quiet "
        "mitigations=off isolcpus=2-3 ip=10.1.2.3 systemd.hostname=secret //share/home -- --addr 10.0.0.1:22"
    )
    assert kernel.boot_parameters(line) == (
        "BOOT_IMAGE=… root=… ro quiet mitigations=off isolcpus=2-3 ip=… systemd.hostname=…"
    )


def test_limits_of_control_groups_version_two(tmp_path: Path) -> None:
    write(
        tmp_path,
        {
            "sys/fs/cgroup/cgroup.controllers": "cpu memory",
            "proc/self/cgroup": "0::/user.slice",
            "sys/fs/cgroup/user.slice/cpu.max": "150000 100000",
            "sys/fs/cgroup/user.slice/memory.max": "max",
            "sys/fs/cgroup/cpuset.cpus.effective": "0-3",
        },
    )
    assert system.limits(tmp_path) == {
        "cgroup version": 2,
        "CPU limit": 1.5,
        "memory limit bytes": "none",
        "CPU set": "0-3",
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
        },
    )
    facts = system.limits(tmp_path)
    assert facts["CPU limit"] == "none"
    assert facts["memory limit bytes"] == 1 << 30
    assert facts["CPU set"] == "0-1"


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


def test_no_engine_is_absent_with_the_reason(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/nobody.sock")
    answer = engine.engine()["engine"]
    assert isinstance(answer, Absent)
    assert "No such file or directory" in answer.reason


@pytest.mark.docker
def test_the_engine_that_answers_is_described() -> None:
    facts = engine.engine()
    assert isinstance(facts["version"], str)
    assert facts["storage driver"]
    assert platform.node() not in facts.values()


def test_the_last_level_of_cache_is_summed_over_those_that_are_used(tmp_path: Path) -> None:
    files: dict[str, str] = {}
    for number in range(4):
        shared = "0-1" if number < 2 else "2-3"
        folder = f"sys/devices/system/cpu/cpu{number}/cache"
        for index, (level, size, where) in enumerate([(1, "48K", str(number)), (3, "32M", shared)]):
            files |= {
                f"{folder}/index{index}/level": str(level),
                f"{folder}/index{index}/size": size,
                f"{folder}/index{index}/shared_cpu_list": where,
            }
    root = write(tmp_path, files)
    assert cpu.last_cache_bytes([0], root) == 32 << 20
    assert cpu.last_cache_bytes([0, 1], root) == 32 << 20
    assert cpu.last_cache_bytes([1, 2], root) == 64 << 20
    assert cpu.last_cache_bytes([7], root) == Absent("the kernel shows no caches")
