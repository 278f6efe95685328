"""The variables every worker gets, and that they do what they are for."""

import os
import time
from pathlib import Path

import psutil
import pytest

from levelfield.launchers.environment import PADDING, gpu_environment, worker_environment
from levelfield.launchers.host import HostLauncher
from levelfield.launchers.protocol import LaunchSpec
from levelfield.worker.messages import Load, Loaded, Measure, Measured, Probe, Probed, Task
from tests.launchers.scripts import PATIENCE_S


@pytest.mark.skipif(bool(HostLauncher().cannot_bind_memory()), reason="the kernel refuses to bind memory")
def test_the_memory_of_a_worker_is_bound_to_its_node(tmp_path: Path) -> None:
    launcher = HostLauncher()
    image = launcher.prepare("canary", "cpu", None, lambda _: None)
    cpus = (min(os.sched_getaffinity(0)),)
    worker = launcher.launch(LaunchSpec("canary", image, 1, cpus, 1 << 30, tmp_path, memory_nodes=(0,)))
    worker.await_ready(PATIENCE_S)
    worker.ask(Load(Task("canary", "canary", 1, 1)), Loaded, PATIENCE_S)
    maps = Path(f"/proc/{worker.pid}/numa_maps").read_text().splitlines()
    policies = {line.split()[1] for line in maps if "anon=" in line}
    worker.stop()
    assert policies - {"local"} == {"bind:0"}, "OpenBLAS asks for local memory for its own buffers"


def test_a_worker_has_its_padding_and_does_not_report_it(tmp_path: Path) -> None:
    """The record has its length: four thousand bytes of it in each launch would say no more."""
    launcher = HostLauncher()
    image = launcher.prepare("canary", "cpu", None, lambda _: None)
    worker = launcher.launch(LaunchSpec("canary", image, 1, (0,), 1 << 30, tmp_path, padding_bytes=1234))
    worker.await_ready(PATIENCE_S)
    probed = worker.ask(Probe(), Probed, PATIENCE_S)
    assert worker.pid is not None
    seen = psutil.Process(worker.pid).environ()
    worker.stop()
    assert seen[PADDING] == "x" * 1234
    assert PADDING not in probed.environment


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


UUID = "GPU-00000000-0000-0000-0000-000000000000"


def test_a_process_sees_one_gpu_and_its_uuid_is_not_recorded(tmp_path: Path) -> None:
    assert gpu_environment("") == {}
    assert gpu_environment(UUID) == {"CUDA_VISIBLE_DEVICES": UUID}
    assert gpu_environment(UUID, "/cache") == {"CUDA_VISIBLE_DEVICES": UUID, "CUDA_CACHE_PATH": "/cache/cuda"}
    assert gpu_environment("", "/cache") == {}
    assert "CUDA_VISIBLE_DEVICES" not in worker_environment(threads=1, cpus=(0,))
    launcher = HostLauncher()
    image = launcher.prepare("torch", "cuda", None, lambda _: None)
    cpus = (min(os.sched_getaffinity(0)),)
    worker = launcher.launch(LaunchSpec("torch", image, 1, cpus, 1 << 30, tmp_path, gpu=UUID))
    worker.await_ready(PATIENCE_S)
    variables = worker.ask(Probe(), Probed, PATIENCE_S).environment
    worker.stop()
    assert variables["CUDA_VISIBLE_DEVICES"] == "GPU-…"
