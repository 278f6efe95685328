"""Containers that are given a GPU, and a real engine that has none to give."""

import os
import shutil
from pathlib import Path

import docker
import pytest

from suite.errors import LevelfieldError
from suite.launchers.docker import DockerLauncher
from suite.launchers.environment import gpu_environment, worker_environment
from suite.launchers.gpu import DRIVER, gpu_error, gpu_request, without_uuids
from suite.launchers.host import HostLauncher
from suite.launchers.protocol import LaunchSpec
from suite.launchers.worker import WorkerError
from suite.record.schema import Image
from suite.worker.messages import Probe, Probed
from tests.commands import one_clear_sentence, run
from tests.engines import none_left
from tests.launchers.scripts import PATIENCE_S
from tests.machine.fake_nvml import compile_library, environment

UUID = "GPU-00000000-0000-0000-0000-000000000000"
TOOLKIT = "The container engine gives no GPU to containers: NVIDIA's container toolkit is missing"
without_toolkit = pytest.mark.skipif(
    shutil.which("nvidia-container-runtime-hook") is not None or Path("/dev/nvidiactl").exists(),
    reason="NVIDIA's container toolkit, or a GPU, is here.",
)


def test_one_gpu_is_asked_for_by_its_uuid() -> None:
    asked = gpu_request(UUID)
    assert asked.device_ids == [UUID]
    assert asked.capabilities == [["gpu"]]
    assert asked.count == 0
    assert DRIVER == {"NVIDIA_DRIVER_CAPABILITIES": "compute,utility"}


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


@pytest.mark.parametrize(
    ("said", "says", "fix"),
    [
        ('could not select device driver "" with capabilities: [[gpu]]', "toolkit is missing", "nvidia-ctk runtime"),
        (
            f"CDI device injection failed: unresolvable CDI devices nvidia.com/gpu={UUID}",
            "no CDI device",
            "cdi generate",
        ),
        (
            "nvidia-container-cli: initialization error: nvml error: driver/library version mismatch: unknown",
            "has not been restarted since",
            "Restart the machine",
        ),
        (
            "nvidia-container-cli: initialization error: nvml error: driver not loaded",
            "not loaded the",
            "modprobe nvidia",
        ),
        (
            f"nvidia-container-cli: device error: {UUID}: unknown device: unknown",
            "does not know this GPU",
            "nvidia-smi -L",
        ),
        ("nvidia-container-cli: requirement error: unsatisfied condition: cuda>=13.0", "too old", "newer driver"),
        (
            f"OCI runtime create failed:\n something about {UUID} new.",
            "would not start a container",
            "the engine's log",
        ),
    ],
)
def test_refusals_are_worded(said: str, says: str, fix: str) -> None:
    refusal = gpu_error(said)
    assert says in refusal.message
    assert fix in refusal.fix
    assert "--variant cpu" in refusal.fix
    assert refusal.message.endswith(".")
    assert refusal.message.count(". ") == 0, "one sentence"
    assert UUID not in refusal.message


def test_a_uuid_is_kept_out_of_what_is_recorded() -> None:
    assert without_uuids(f"device {UUID}\n and MIG-8de47821-9ed2-75e0") == "device GPU-… and MIG-…"


@pytest.fixture(scope="module")
def launcher(engine: docker.DockerClient) -> DockerLauncher:
    return DockerLauncher(engine)


@pytest.fixture(scope="module")
def image(launcher: DockerLauncher) -> Image:
    return launcher.prepare("canary", "cpu", None, lambda _: None)


@without_toolkit
@pytest.mark.docker
def test_a_missing_toolkit_is_said_before_anything_large_is_fetched(
    engine: docker.DockerClient, launcher: DockerLauncher, image: Image
) -> None:
    with pytest.raises(LevelfieldError) as caught:
        launcher.check_gpu(image, UUID)
    assert caught.value.message.startswith(TOOLKIT)
    assert "nvidia-ctk runtime configure" in caught.value.fix
    assert none_left(engine)


@without_toolkit
@pytest.mark.docker
def test_a_worker_that_is_refused_costs_its_own_case(
    engine: docker.DockerClient, launcher: DockerLauncher, image: Image, tmp_path: Path
) -> None:
    cpus = (min(os.sched_getaffinity(0)),)
    spec = LaunchSpec("torch@cu13", image, 1, cpus, 512 << 20, tmp_path, gpu=UUID)
    with pytest.raises(WorkerError) as caught:
        launcher.launch(spec)
    assert caught.value.kind == "engine"
    assert caught.value.message.startswith(TOOLKIT)
    assert none_left(engine)


@without_toolkit
@pytest.mark.docker
def test_bench_ends_in_a_sentence_where_the_engine_has_no_gpu(engine: docker.DockerClient, tmp_path: Path) -> None:
    library = compile_library(tmp_path / "nvml", driver="595.58.03", cuda=13020)
    words = ("--profile", "smoke", "--models", "mlp", "--backends", "onnxruntime", "--launcher", "docker")
    command = run("bench", *words, folder=tmp_path, environment=environment(library))
    one_clear_sentence(command, TOOLKIT, "--launcher venv")
    assert not list((tmp_path / "reports").glob("*/journal*"))
    assert none_left(engine)


@without_toolkit
@pytest.mark.docker
def test_doctor_says_it_before_any_run(engine: docker.DockerClient, tmp_path: Path) -> None:
    library = compile_library(tmp_path / "nvml", driver="595.58.03", cuda=13020)
    command = run("doctor", folder=tmp_path, environment=environment(library))
    said = " ".join(command.out.split())
    assert "note GPU in containers: There is a GPU, and the engine lists neither" in said
    assert "→ Install nvidia-container-toolkit" in said
