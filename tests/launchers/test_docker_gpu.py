"""Containers that are given a GPU, and a real engine that has none to give."""

import os
import shutil
from pathlib import Path

import docker
import pytest

from suite.errors import LevelfieldError
from suite.launchers.docker import DRIVER, DockerLauncher, gpu_refused, one_gpu
from suite.launchers.environment import gpu_environment, worker_environment
from suite.launchers.host import HostLauncher
from suite.launchers.protocol import LaunchSpec
from suite.launchers.worker import WorkerError
from suite.records.schema import Image
from suite.worker.messages import Probe, Probed
from tests.commands import one_clear_sentence, run
from tests.compatibility.fake_nvml import compile_library, environment
from tests.engines import none_left
from tests.launchers.scripts import PATIENCE_S

UUID = "GPU-00000000-0000-0000-0000-000000000000"
TOOLKIT = "The container engine gives no GPU to containers: NVIDIA's container toolkit is missing."
without_toolkit = pytest.mark.skipif(
    shutil.which("nvidia-container-runtime-hook") is not None or Path("/dev/nvidiactl").exists(),
    reason="NVIDIA's container toolkit, or a GPU, is here.",
)


def test_one_gpu_is_asked_for_by_its_uuid() -> None:
    asked = one_gpu(UUID)
    assert asked.device_ids == [UUID]
    assert asked.capabilities == [["gpu"]]
    assert asked.count == 0
    assert DRIVER == {"NVIDIA_DRIVER_CAPABILITIES": "compute,utility"}


def test_a_process_sees_one_gpu_and_its_uuid_is_not_recorded(tmp_path: Path) -> None:
    assert gpu_environment("") == {}
    assert gpu_environment(UUID) == {"CUDA_VISIBLE_DEVICES": UUID}
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
    ("said", "says"),
    [
        ('could not select device driver "" with capabilities: [[gpu]]', "toolkit is missing"),
        ("CDI device injection failed: unresolvable CDI devices nvidia.com/gpu=0", "toolkit is missing"),
        ("nvidia-container-cli: initialization error: nvml error: driver not loaded", "would not start a container"),
    ],
)
def test_refusals_are_worded(said: str, says: str) -> None:
    refusal = gpu_refused(said)
    assert says in refusal.message
    assert "--variant cpu" in refusal.fix


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
    assert caught.value.message == TOOLKIT
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
