import os
import shutil
import socket
import subprocess
import sys
import tempfile
from pathlib import Path

import msgspec
import pytest

from suite.machine import quiet, room, tools
from suite.machine.doctor import examine
from suite.machine.findings import Finding, Needs
from suite.record.schema import Absent, Noise

QUIET = Noise(
    elapsed_ns=1_000_000_000,
    steal_ns=0,
    pressure_ns=0,
    others_ns=0,
    supervisor_ns=0,
    idle_workers_ns=0,
    context_switches=100,
    major_faults=0,
    swapped_pages=0,
)


def write(root: Path, files: dict[str, str]) -> Path:
    for name, content in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(content)
    return root


def states(findings: list[Finding]) -> dict[str, str]:
    return {finding.topic: finding.state for finding in findings}


def test_this_machine_is_examined_with_a_fix_beside_all_that_is_not_well() -> None:
    findings = examine(Needs(wheels_missing_bytes=0))
    topics = {finding.topic for finding in findings}
    assert {"container engine", "base image", "wheels", "Python", "disk", "memory", "CPUs", "timer"} <= topics
    for finding in findings:
        assert finding.message.endswith(".")
        assert bool(finding.fix) == (finding.state != "ok")


# ---- container engine ------------------------------------------------------------------------------------------------


def test_no_socket_and_no_program_means_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("DOCKER_HOST", raising=False)
    finding = tools.no_engine(FileNotFoundError(2, "No such file or directory"), installed=False)
    assert "None is installed" in finding.message
    assert "apt-get install docker.io" in finding.fix


def test_no_socket_but_a_program_means_start(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("DOCKER_HOST", raising=False)
    finding = tools.no_engine(FileNotFoundError(2, "No such file or directory"), installed=True)
    assert "installed, and not running" in finding.message
    assert finding.fix.startswith("Start it")


def test_a_socket_nobody_listens_on_means_start_again(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as stale:
        stale.bind(f"{tmp_path}/docker.sock")
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/docker.sock")
    engine = tools.container_engine(Needs())
    assert not engine.answers
    assert "has stopped" in engine.findings[0].message


def test_a_socket_of_somebody_else_means_ask_for_the_right() -> None:
    if os.geteuid() != 0:
        pytest.skip("only root can become somebody else")
    program = (
        # Imported before the change of user: the checkout may be private to root.
        "import os, suite.machine.tools as tools, pynvml\n"
        "os.setgid(65534); os.setuid(65534)\n"
        "print(tools.container_engine(tools.Needs()).findings[0].fix)"
    )
    with tempfile.TemporaryDirectory() as folder, socket.socket(socket.AF_UNIX) as listener:
        Path(folder).chmod(0o755)
        listener.bind(f"{folder}/docker.sock")
        listener.listen()
        Path(f"{folder}/docker.sock").chmod(0o600)
        answer = subprocess.run(
            [sys.executable, "-c", program],
            env={**os.environ, "DOCKER_HOST": f"unix://{folder}/docker.sock"},
            cwd=Path(__file__).parents[2],
            capture_output=True,
            text=True,
            check=True,
        )
    assert "usermod -aG docker" in answer.stdout


def test_a_wrong_docker_host_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/nobody.sock")
    finding = tools.container_engine(Needs()).findings[0]
    assert f"DOCKER_HOST (unix://{tmp_path}/nobody.sock)" in finding.message
    assert "Unset DOCKER_HOST" in finding.fix


@pytest.mark.docker
def test_an_engine_that_answers_is_described(monkeypatch: pytest.MonkeyPatch) -> None:
    engine = tools.container_engine(Needs())
    assert engine.answers
    assert states(list(engine.findings))["container engine"] == "ok"
    assert "API 1." in engine.findings[0].message


# ---- programs --------------------------------------------------------------------------------------------------------


@pytest.fixture
def nothing_installed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", str(folder))
    return folder


def program(folder: Path, name: str, says: str) -> None:
    (folder / name).write_text(f"#!/bin/sh\n{says}\n")
    (folder / name).chmod(0o755)


def test_without_mmdebstrap_the_registry_decides(nothing_installed: Path) -> None:
    assert tools.base_builder(reaches_registry=True, engine=True).state == "warn"
    assert tools.base_builder(reaches_registry=False, engine=True).state == "bad"
    assert tools.base_builder(reaches_registry=False, engine=False).state == "warn"
    program(nothing_installed, "mmdebstrap", "exit 0")
    assert tools.base_builder(reaches_registry=False, engine=True).state == "ok"


def test_without_apt_the_registry_is_proposed(nothing_installed: Path) -> None:
    finding = tools.debian_packages()
    assert finding.state == "warn"
    assert "--base registry" in finding.fix


def test_a_mirror_is_known_once_its_list_was_read() -> None:
    installed = "base-files:\n  Candidate: 12\n  Version table:\n *** 12 100\n        100 /var/lib/dpkg/status\n"
    assert tools.mirrors_known(installed).fix.startswith("Run apt-get update")
    assert tools.mirrors_known(installed + "     12 500\n        500 http://mirror/debian stable/main\n").state == "ok"


def test_wheels_in_the_cache_need_no_index(nothing_installed: Path) -> None:
    assert tools.wheels(Needs(wheels_missing_bytes=0)).state == "ok"


def test_an_index_that_does_not_answer_is_bad(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        port = closed.getsockname()[1]
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("PIP_INDEX_URL", f"http://127.0.0.1:{port}/simple")
    finding = tools.wheels(Needs(wheels_missing_bytes=800_000_000))
    assert finding.state == "bad"
    assert "800 MB are to come" in finding.message
    assert "pip config list" in finding.fix


def test_the_locks_python_matters_only_without_an_engine(nothing_installed: Path) -> None:
    needs = Needs(python="3.99")
    assert tools.python_of_locks(needs, engine=True).state == "ok"
    missing = tools.python_of_locks(needs, engine=False)
    assert missing.state == "bad"
    assert "python3.99-venv" in missing.fix
    program(nothing_installed, "python3.99", "exit 0")
    assert tools.python_of_locks(needs, engine=False).state == "ok"
    here = f"{sys.version_info[0]}.{sys.version_info[1]}"
    assert tools.python_of_locks(Needs(python=here), engine=False).state == "ok"


def test_a_missing_compiler_matters_only_without_an_engine(nothing_installed: Path) -> None:
    assert tools.compiler(engine=True).state == "ok"
    finding = tools.compiler(engine=False)
    assert finding.state == "warn"
    assert "g++" in finding.message
    assert "torch-compile" in finding.message


# ---- room ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("free", "state"), [(1 << 30, "bad"), (5 << 30, "warn"), (50 << 30, "ok")])
def test_disk(tmp_path: Path, free: int, state: str) -> None:
    assert room.disk(tmp_path, free, Needs()).state == state


def test_one_disk_is_told_once_and_folders_need_not_be_there(tmp_path: Path) -> None:
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
            "sys/fs/cgroup/cgroup.controllers": "memory",
            "sys/fs/cgroup/job/memory.max": limit,
        },
    )
    assert room.memory(Needs(), tmp_path).state == state


def test_memory_that_is_not_told_is_no_zero(tmp_path: Path) -> None:
    assert "not known" in room.memory(Needs(), tmp_path).message


@pytest.mark.parametrize(
    ("there", "allowed", "quota", "state", "words"),
    [
        ((0, 1), (0, 1), "none", "ok", "2 (0-1)"),
        ((0, 1, 2, 3), (2, 3), "none", "ok", "2 of 4 may be used (2-3)"),
        ((0, 1), (0, 1), 0.5, "warn", "0.5 CPUs' worth"),
        ((0,), (0,), Absent("no control groups"), "warn", "only one"),
    ],
)
def test_cpus(there: tuple[int, ...], allowed: tuple[int, ...], quota: object, state: str, words: str) -> None:
    finding = room.cpus_allowed(there, allowed, quota)
    assert finding.state == state
    assert words in finding.message


# ---- noise -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changes", "topic"),
    [
        ({"steal_ns": 100_000_000}, "stolen time"),
        ({"others_ns": 300_000_000}, "other processes"),
        ({"pressure_ns": 300_000_000}, "waiting for a CPU"),
    ],
)
def test_noise_right_now(changes: dict[str, int], topic: str) -> None:
    found = states(quiet.describe(msgspec.structs.replace(QUIET, **changes), 2, ["cc1plus (7) 90 %"]))
    assert found.pop(topic) == "warn"
    assert set(found.values()) == {"ok"}


def test_noise_that_cannot_be_seen_is_said() -> None:
    unknown = msgspec.structs.replace(QUIET, pressure_ns=Absent("/proc/pressure/cpu is not there"))
    found = {finding.topic: finding for finding in quiet.describe(unknown, 2, [])}
    assert "psi=1" in found["waiting for a CPU"].fix


@pytest.mark.alone
def test_a_busy_process_is_named() -> None:
    with subprocess.Popen([sys.executable, "-c", "while True: pass"]) as busy:
        try:
            found = {finding.topic: finding for finding in quiet.now(0.5)}
        finally:
            busy.kill()
    assert found["other processes"].state == "warn"
    assert "of a CPU" in found["other processes"].message


def test_a_laptop_with_everything_on(tmp_path: Path) -> None:
    folder = "sys/devices/system/cpu"
    write(
        tmp_path,
        {
            f"{folder}/online": "0-3",
            f"{folder}/cpu0/cpufreq/scaling_governor": "powersave",
            f"{folder}/intel_pstate/no_turbo": "0",
            f"{folder}/smt/active": "1",
            **{f"{folder}/cpu{n}/topology/thread_siblings_list": f"{n % 2},{n % 2 + 2}" for n in range(4)},
            "sys/class/power_supply/AC/type": "Mains",
            "sys/class/power_supply/AC/online": "0",
            "sys/class/power_supply/BAT0/type": "Battery",
            "sys/class/power_supply/BAT0/status": "Discharging",
        },
    )
    found = {finding.topic: finding for finding in quiet.clock(tmp_path)}
    assert set(found) == {"governor", "turbo", "SMT", "power"}
    assert all(finding.state == "warn" for finding in found.values())
    assert "each of the 2 cores" in found["SMT"].message
    assert "--threads 2" in found["SMT"].fix


def test_a_server_set_for_measuring(tmp_path: Path) -> None:
    folder = "sys/devices/system/cpu"
    write(
        tmp_path,
        {
            f"{folder}/online": "0",
            f"{folder}/cpu0/cpufreq/scaling_governor": "performance",
            f"{folder}/cpufreq/boost": "0",
            f"{folder}/smt/active": "0",
        },
    )
    assert states(quiet.clock(tmp_path)) == {"governor": "ok"}


def test_swap_in_use_and_huge_pages(tmp_path: Path) -> None:
    write(
        tmp_path,
        {
            "proc/meminfo": "SwapTotal: 4194304 kB\nSwapFree: 1048576 kB\n",
            "sys/kernel/mm/transparent_hugepage/enabled": "[always] madvise never",
        },
    )
    assert states(quiet.memory(tmp_path)) == {"swap": "warn", "huge pages": "warn"}
    write(tmp_path, {"proc/meminfo": "SwapTotal: 0 kB\nSwapFree: 0 kB\n"})
    assert states(quiet.memory(tmp_path))["swap"] == "ok"
