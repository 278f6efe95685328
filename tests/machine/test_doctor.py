"""What a finding says: whether something has to be done, and then what."""

import shutil
from pathlib import Path
from typing import Any

import docker
import pytest

from levelfield.compatibility.gate import Gpu, Nvidia
from levelfield.machine import doctor, findings
from levelfield.machine.doctor import examine
from levelfield.machine.engine import Address, described
from levelfield.machine.findings import Needs
from tests.conftest import mounted
from tests.machine.folders import V2, write


def test_this_machine_is_examined_with_a_fix_beside_all_that_is_not_well() -> None:
    found = examine(Needs(wheels_missing_bytes=0))
    topics = {finding.topic for finding in found}
    assert {"container engine", "wheels", "Python", "disk", "memory", "CPUs", "timer"} <= topics
    for finding in found:
        assert finding.message.endswith(".")
        assert bool(finding.fix) == (finding.state != "ok")


@pytest.mark.parametrize(
    ("options", "needed_bytes", "state", "says"),
    [
        ("2m", 1 << 20, "ok", "still to be made takes"),
        ("2m", 4 << 20, "bad", "free at"),
        ("64m,nr_inodes=20", 2 << 20, "bad", "only 19 inodes are free"),
    ],
)
def test_a_disk_has_what_this_very_plan_needs(
    tmp_path: Path, options: str, needed_bytes: int, state: str, says: str
) -> None:
    with mounted(tmp_path / "disk", options) as folder:
        found = findings.disk(folder, needed_bytes)
    assert found.state == state
    assert says in found.message


def test_folders_on_one_disk_are_added_up_and_need_not_be_there(tmp_path: Path) -> None:
    half = int(shutil.disk_usage(tmp_path).free * 0.6)
    (found,) = doctor.disks(Needs(folders={tmp_path: half, tmp_path / "not/yet": half}))
    assert found.state == "bad"
    assert doctor.disks(Needs(folders={tmp_path: half}))[0].state == "ok"


@pytest.mark.parametrize(
    ("available_kb", "limit", "state"), [(16 << 20, "max", "ok"), (16 << 20, str(1 << 30), "warn")]
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


def test_a_context_that_is_missing_prevents_a_run(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("DOCKER_HOST", raising=False)
    monkeypatch.setenv("DOCKER_CONFIG", str(tmp_path))
    monkeypatch.setenv("DOCKER_CONTEXT", "gone")
    (finding,), _ = doctor.container_engine()
    assert finding.state == "bad"
    assert "the context gone" in finding.message


HERE = Nvidia(driver="595.58.03", gpus=(Gpu(0, "NVIDIA H100", "9.0"),))
RUNC = {"io.containerd.runc.v2": {"path": "runc"}, "runc": {"path": "runc"}}
DEVICES = [
    {"Source": "cdi", "ID": "nvidia.com/gpu=0"},
    {"Source": "cdi", "ID": "nvidia.com/gpu=GPU-8de47821-9ed2-75e0-acc4-4646a03f8b35"},
    {"Source": "cdi", "ID": "nvidia.com/gpu=all"},
]


class Engine(docker.DockerClient):
    """An engine that says this of itself."""

    def __init__(self, **info: Any) -> None:
        self._info = info

    def info(self) -> dict[str, Any]:
        return self._info

    def version(self, api_version: bool = True) -> dict[str, Any]:  # noqa: ARG002  (the SDK's)
        return {"Version": "29.1.0", "ApiVersion": "1.52"}


@pytest.mark.parametrize(
    ("info", "says"),
    [
        ({"Runtimes": {**RUNC, "nvidia": {"path": "nvidia-container-runtime"}}}, "NVIDIA's runtime is among"),
        ({"Runtimes": RUNC, "DiscoveredDevices": DEVICES}, "nvidia.com/gpu"),
    ],
)
def test_an_engine_that_has_it_says_so_itself(info: dict[str, Any], says: str) -> None:
    (finding,) = doctor.toolkit_findings(described(Engine(**info)), HERE)
    assert finding.state == "ok"
    assert says in finding.message


@pytest.mark.parametrize(
    ("error", "named_by", "installed", "says"),
    [
        (PermissionError(), "the default socket", True, "may not talk to it"),
        (ConnectionRefusedError(), "the default socket", True, "has stopped"),
        (FileNotFoundError(), "the context far", True, "Nothing listens at the context far (unix:///run/docker.sock)"),
        (ConnectionRefusedError(), "DOCKER_HOST", True, "Nothing listens at DOCKER_HOST (unix:///run/docker.sock)"),
        (FileNotFoundError(), "the default socket", True, "installed, and not running"),
        (FileNotFoundError(), "the default socket", False, "None is installed"),
    ],
)
def test_why_no_engine_answers_is_told_apart(error: OSError, named_by: str, installed: bool, says: str) -> None:
    there = Address("unix:///run/docker.sock", named_by)
    assert says in doctor.no_engine(error, there, installed=installed).message
