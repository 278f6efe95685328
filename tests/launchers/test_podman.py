"""podman in Docker's place: its API is asked as Docker's is, through `DOCKER_HOST`."""

import contextlib
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import docker
import pytest
from docker.errors import DockerException

from tests.commands import eventually, run
from tests.engines import remove
from tests.rigs import rig

pytestmark = [pytest.mark.docker, pytest.mark.extended]


@pytest.fixture(scope="module")
def podman() -> Iterator[str]:
    """The address of a service with storage of its own."""
    if os.getuid() != 0 or shutil.which("podman") is None:
        pytest.skip("This needs root and podman (Debian: apt-get install podman).")
    folder = Path(tempfile.mkdtemp(prefix="levelfield-podman-"))
    (folder / "containers.conf").write_text(rig.limits())
    host = f"unix://{folder}/socket"
    storage = ["--root", str(folder / "root"), "--runroot", str(folder / "run")]
    with (folder / "log").open("wb") as log:
        service = subprocess.Popen(
            ["podman", *storage, "system", "service", "--time", "0", host],
            stdout=log,
            stderr=log,
            env={**os.environ, "CONTAINERS_CONF": str(folder / "containers.conf")},
        )

    def answers() -> bool:
        with contextlib.suppress(DockerException), contextlib.closing(docker.DockerClient(host)) as client:
            return bool(client.ping())
        return False

    try:
        ready = eventually(lambda: service.poll() is not None or ((folder / "socket").exists() and answers()))
        assert ready, (folder / "log").read_text()
        assert service.poll() is None, (folder / "log").read_text()
        yield host
    finally:
        service.terminate()
        service.wait(60)
        remove(folder)


def test_a_run_is_measured_and_verified(podman: str, tmp_path: Path) -> None:
    words = ("bench", "--profile", "smoke", "--models", "mlp", "--backends", "onnxruntime")
    done = run(*words, folder=tmp_path, environment={"DOCKER_HOST": podman}, code=0)
    assert "Measured in one pinned container per framework." in done.out
    assert "All 2 answers are equal to the reference." in done.out
    with contextlib.closing(docker.DockerClient(podman)) as client:
        assert eventually(lambda: not client.containers.list(all=True))
