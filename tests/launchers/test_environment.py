"""The variables every worker gets, and that they do what they are for."""

import os
import time
from pathlib import Path

import psutil
import pytest

from suite.launchers.environment import worker_environment
from suite.launchers.host import HostLauncher
from suite.launchers.protocol import LaunchSpec
from suite.worker.messages import Load, Loaded, Measure, Measured, Probe, Probed, Task
from tests.launchers.scripts import PATIENCE_S

pytestmark = pytest.mark.alone


def test_threads_and_cpus_are_named() -> None:
    variables = worker_environment(threads=3, cpus=(0, 2, 5))
    assert {variables[f"{name}_NUM_THREADS"] for name in ("OMP", "MKL", "OPENBLAS")} == {"3"}
    assert variables["LEVELFIELD_CPUS"] == "0,2,5"


def test_nothing_of_the_users_own_is_passed_on(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("OMP_WAIT_POLICY", "KMP_AFFINITY", "TF_ENABLE_ONEDNN_OPTS", "SECRET_TOKEN", "PYTHONSTARTUP"):
        monkeypatch.setenv(name, "1")
    launcher = HostLauncher()
    image = launcher.prepare("canary", "cpu", None, lambda _: None)
    cpus = tuple(sorted(os.sched_getaffinity(0)))
    worker = launcher.launch(LaunchSpec("canary", image, len(cpus), cpus, 1 << 30, tmp_path))
    worker.await_ready(PATIENCE_S)
    probed = worker.ask(Probe(), Probed, PATIENCE_S)
    assert worker.pid is not None
    seen = psutil.Process(worker.pid).environ()
    worker.stop()
    assert "SECRET_TOKEN" not in seen
    assert {"OMP_WAIT_POLICY", "KMP_AFFINITY", "TF_ENABLE_ONEDNN_OPTS"}.isdisjoint(probed.environment)
    assert probed.environment["OMP_NUM_THREADS"] == str(len(cpus))
    assert probed.affinity == cpus


def test_the_canarys_threads_sleep_when_its_turn_is_over(tmp_path: Path) -> None:
    """A spinning thread would take its core from the next worker's window."""
    launcher = HostLauncher()
    image = launcher.prepare("canary", "cpu", None, lambda _: None)
    cpus = tuple(sorted(os.sched_getaffinity(0)))[:2]
    worker = launcher.launch(LaunchSpec("canary", image, len(cpus), cpus, 1 << 30, tmp_path))
    worker.await_ready(PATIENCE_S)
    worker.ask(Load(Task("canary", "canary", 1, len(cpus))), Loaded, PATIENCE_S)
    worker.ask(Measure(window_ns=100_000_000), Measured, PATIENCE_S)
    assert worker.pid is not None
    before = psutil.Process(worker.pid).cpu_times()
    time.sleep(0.3)
    after = psutil.Process(worker.pid).cpu_times()
    worker.stop()
    assert after.user + after.system - before.user - before.system <= 0.03


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
