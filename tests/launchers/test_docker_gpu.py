"""Containers that are given a GPU, and a real engine that has none to give."""

import os
import shutil
from pathlib import Path

import docker
import pytest

from levelfield.errors import LevelfieldError
from levelfield.launchers.docker import DockerLauncher
from levelfield.launchers.protocol import LaunchSpec
from levelfield.launchers.worker import WorkerError
from levelfield.record.schema import Image
from tests.engines import none_left

UUID = "GPU-00000000-0000-0000-0000-000000000000"
TOOLKIT = "The container engine gives no GPU to containers: NVIDIA's container toolkit is missing"
without_toolkit = pytest.mark.skipif(
    shutil.which("nvidia-container-runtime-hook") is not None or Path("/dev/nvidiactl").exists(),
    reason="NVIDIA's container toolkit, or a GPU, is here.",
)


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
