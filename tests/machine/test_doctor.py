"""What a finding says: whether something has to be done, and then what."""

import os
import shutil
import socket
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from levelfield.machine import doctor
from levelfield.machine.doctor import examine
from levelfield.machine.engine import Address
from levelfield.machine.findings import Needs, bad, check, gibibytes, ok, warn
from levelfield.machine.topology import Topology
from tests.conftest import mounted
from tests.machine.folders import V2, states, write
from tests.machine.recorded import machine


def test_this_machine_is_examined_with_a_fix_beside_all_that_is_not_well() -> None:
    findings = examine(Needs(wheels_missing_bytes=0))
    topics = {finding.topic for finding in findings}
    assert {"container engine", "wheels", "Python", "disk", "memory", "CPUs", "timer"} <= topics
    for finding in findings:
        assert finding.message.endswith(".")
        assert bool(finding.fix) == (finding.state != "ok")


def test_a_judgement_is_a_warning_with_a_fix_or_neither() -> None:
    well = check("memory", "There are 8.0 GiB.", "Add memory.", passed=True)
    ill = check("memory", "There are 8.0 GiB.", "Add memory.", passed=False)
    assert well == ok("memory", "There are 8.0 GiB.")
    assert (well.state, well.fix) == ("ok", "")
    assert ill == warn("memory", "There are 8.0 GiB.", "Add memory.")
    assert (ill.state, ill.fix) == ("warn", "Add memory.")
    assert bad("memory", "There is none.", "Add memory.").state == "bad"


def test_sizes_are_in_gibibytes() -> None:
    assert gibibytes(3 << 30) == "3.0 GiB"
    assert gibibytes(12.5 * 2**30) == "12.5 GiB"
    assert gibibytes(0) == "0.0 GiB"


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
        found = doctor.disk(folder, needed_bytes)
    assert found.state == state
    assert says in found.message


def test_folders_on_one_disk_are_added_up_and_need_not_be_there(tmp_path: Path) -> None:
    free = shutil.disk_usage(tmp_path).free
    half = int(free * 0.6)
    (found,) = doctor.disks(Needs(folders={tmp_path: half, tmp_path / "not/yet": half}))
    assert found.state == "bad"
    assert doctor.disks(Needs(folders={tmp_path: half}))[0].state == "ok"


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
    assert doctor.memory(Needs(), tmp_path).state == state


def test_memory_that_is_not_told_is_no_zero(tmp_path: Path) -> None:
    assert "not known" in doctor.memory(Needs(), tmp_path).message


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
    finding = doctor.cpus_allowed(there, Topology(allowed=allowed, quota=quota))
    assert finding.state == state
    assert words in finding.message


def test_numa_nodes_are_listed_where_there_are_several(tmp_path: Path) -> None:
    (finding,) = doctor.nodes(machine("xeon-2-sockets", tmp_path / "two"))
    assert finding.state == "ok"
    assert "2 nodes (node 0: CPUs " in finding.message
    assert doctor.nodes(write(tmp_path, {"sys/devices/system/node/online": "0"})) == []


DEFAULT = Address("unix:///var/run/docker.sock", "the default socket")


def test_no_socket_and_no_program_means_install() -> None:
    finding = doctor.no_engine(FileNotFoundError(2, "No such file or directory"), DEFAULT, installed=False)
    assert "None is installed" in finding.message
    assert "apt-get install docker.io" in finding.fix


def test_no_socket_but_a_program_means_start() -> None:
    finding = doctor.no_engine(FileNotFoundError(2, "No such file or directory"), DEFAULT, installed=True)
    assert "installed, and not running" in finding.message
    assert finding.fix.startswith("Start it")


def test_a_socket_nobody_listens_on_means_start_again(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as stale:
        stale.bind(f"{tmp_path}/docker.sock")
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/docker.sock")
    engine = doctor.container_engine(Needs())
    assert not engine.answers
    assert "has stopped" in engine.findings[0].message


def test_a_socket_of_somebody_else_means_ask_for_the_right() -> None:
    if os.geteuid() != 0:
        pytest.skip("only root can become somebody else")
    program = (
        # Imported before the change of user: the checkout may be private to root.
        "import os, levelfield.machine.doctor as tools, pynvml\n"
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
    finding = doctor.container_engine(Needs()).findings[0]
    assert f"at unix://{tmp_path}/nobody.sock, which DOCKER_HOST names" in finding.message
    assert "docker context use default" in finding.fix


def test_a_context_that_is_missing_prevents_a_run(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("DOCKER_HOST", raising=False)
    monkeypatch.setenv("DOCKER_CONFIG", str(tmp_path))
    monkeypatch.setenv("DOCKER_CONTEXT", "gone")
    (finding,) = doctor.container_engine(Needs()).findings
    assert finding.state == "bad"
    assert "the context gone" in finding.message


@pytest.mark.docker
def test_an_engine_that_answers_is_described(monkeypatch: pytest.MonkeyPatch) -> None:
    engine = doctor.container_engine(Needs())
    assert engine.answers
    assert states(engine.findings)["container engine"] == "ok"
    assert "API 1." in engine.findings[0].message


@pytest.fixture
def nothing_installed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", str(folder))
    return folder


def program(folder: Path, name: str, says: str) -> None:
    (folder / name).write_text(f"#!/bin/sh\n{says}\n")
    (folder / name).chmod(0o755)


def test_wheels_in_the_cache_need_no_index(nothing_installed: Path) -> None:
    assert doctor.wheels(Needs(wheels_missing_bytes=0)).state == "ok"


def test_an_index_that_does_not_answer_is_bad(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        port = closed.getsockname()[1]
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("PIP_INDEX_URL", f"http://127.0.0.1:{port}/simple")
    finding = doctor.wheels(Needs(wheels_missing_bytes=800_000_000))
    assert finding.state == "bad"
    assert "800 MB are to come" in finding.message
    assert "pip config list" in finding.fix


def test_the_locks_python_matters_only_without_an_engine(nothing_installed: Path) -> None:
    needs = Needs(python="3.99")
    assert doctor.python_of_locks(needs, engine=True).state == "ok"
    missing = doctor.python_of_locks(needs, engine=False)
    assert missing.state == "bad"
    assert "python3.99-venv" in missing.fix
    program(nothing_installed, "python3.99", "exit 0")
    assert doctor.python_of_locks(needs, engine=False).state == "ok"
    here = f"{sys.version_info[0]}.{sys.version_info[1]}"
    assert doctor.python_of_locks(Needs(python=here), engine=False).state == "ok"


def test_a_missing_compiler_matters_only_without_an_engine(nothing_installed: Path) -> None:
    assert doctor.compiler(engine=True).state == "ok"
    finding = doctor.compiler(engine=False)
    assert finding.state == "warn"
    assert "g++" in finding.message
    assert "torch-compile" in finding.message
