"""Workers in the interpreter that is here."""

import os
from pathlib import Path
from typing import Any

import psutil
import pytest

from levelfield.launchers.host import HostLauncher
from levelfield.launchers.protocol import LaunchSpec
from levelfield.launchers.worker import WorkerError
from levelfield.record.schema import Image
from levelfield.worker.messages import Probe, Probed
from tests.launchers.scripts import PATIENCE_S


def test_a_user_of_the_host_launcher_keeps_the_packages_of_their_own(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """`pip install --user` puts them beneath a home that a worker does not have."""
    own = tmp_path / "own"
    (own / "only_mine.dist-info").mkdir(parents=True)
    (own / "only_mine.dist-info" / "METADATA").write_text("Metadata-Version: 2.1\nName: only-mine\nVersion: 1.5\n")
    monkeypatch.setattr("site.getusersitepackages", lambda: str(own))
    cpus = (min(os.sched_getaffinity(0)),)
    launcher = HostLauncher()
    image = launcher.prepare("canary", "cpu", None, lambda _: None)

    def seen() -> dict[str, str]:
        worker = launcher.launch(LaunchSpec("canary", image, 1, cpus, 1 << 30, tmp_path))
        worker.await_ready(PATIENCE_S)
        found = worker.ask(Probe(), Probed, PATIENCE_S).distributions
        worker.stop()
        return found

    assert "only-mine" not in seen(), "this process does not have it either"
    monkeypatch.syspath_prepend(str(own))
    assert seen()["only-mine"] == "1.5"


def test_folders_of_caches_and_compilers_are_passed_on_and_not_recorded(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("CUDA_HOME", "/usr/local/cuda")
    cpus = (min(os.sched_getaffinity(0)),)
    launcher = HostLauncher()
    image = launcher.prepare("torch", "cuda", None, lambda _: None)
    gpu = "GPU-00000000-0000-0000-0000-000000000000"
    worker = launcher.launch(LaunchSpec("torch", image, 1, cpus, 1 << 30, tmp_path, cache=tmp_path / "cache", gpu=gpu))
    worker.await_ready(PATIENCE_S)
    assert worker.pid is not None
    there = psutil.Process(worker.pid).environ()
    recorded = worker.ask(Probe(), Probed, PATIENCE_S).environment
    worker.stop()
    assert there["CUDA_CACHE_PATH"] == f"{tmp_path}/cache/cuda"
    assert "CUDA_CACHE_PATH" not in recorded, "it is another folder in every run"
    assert recorded["CUDA_HOME"] == "/usr/local/cuda"


def test_a_program_that_cannot_be_started(tmp_path: Path) -> None:
    from levelfield.launchers.host import start_process

    with pytest.raises(WorkerError, match="could not be started: No such file"):
        start_process([str(tmp_path / "python")], "the script", {}, tmp_path)


IMAGE = Image(name="canary", variant="cpu", launcher="host")


def spec(**folders: Any) -> LaunchSpec:
    return LaunchSpec("canary/canary", IMAGE, 1, (0,), 1 << 30, Path("/here/artifacts"), **folders)


@pytest.mark.parametrize(
    ("folders", "written"),
    [
        ({}, ()),
        ({"cache": Path("/c")}, (Path("/c"),)),
        ({"export": Path("/e")}, (Path("/e"),)),
        ({"cache": Path("/c"), "export": Path("/e")}, (Path("/c"), Path("/e"))),
    ],
)
def test_a_worker_writes_into_its_cache_and_its_export_alone(
    folders: dict[str, Path], written: tuple[Path, ...]
) -> None:
    assert spec(**folders).written == written
