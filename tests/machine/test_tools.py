"""The programs that a run needs."""

import os
import socket
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from levelfield.machine import tools
from levelfield.machine.engine import Address
from levelfield.machine.findings import Needs
from tests.machine.folders import states

DEFAULT = Address("unix:///var/run/docker.sock", "the default socket")


def test_no_socket_and_no_program_means_install() -> None:
    finding = tools.no_engine(FileNotFoundError(2, "No such file or directory"), DEFAULT, installed=False)
    assert "None is installed" in finding.message
    assert "apt-get install docker.io" in finding.fix


def test_no_socket_but_a_program_means_start() -> None:
    finding = tools.no_engine(FileNotFoundError(2, "No such file or directory"), DEFAULT, installed=True)
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
        "import os, levelfield.machine.tools as tools, pynvml\n"
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
    assert f"at unix://{tmp_path}/nobody.sock, which DOCKER_HOST names" in finding.message
    assert "docker context use default" in finding.fix


def test_a_context_that_is_missing_prevents_a_run(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("DOCKER_HOST", raising=False)
    monkeypatch.setenv("DOCKER_CONFIG", str(tmp_path))
    monkeypatch.setenv("DOCKER_CONTEXT", "gone")
    (finding,) = tools.container_engine(Needs()).findings
    assert finding.state == "bad"
    assert "the context gone" in finding.message


@pytest.mark.docker
def test_an_engine_that_answers_is_described(monkeypatch: pytest.MonkeyPatch) -> None:
    engine = tools.container_engine(Needs())
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
