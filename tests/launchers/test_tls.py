"""A worker in an engine that is reached by TLS, whose streams are encrypted too."""

import contextlib
import os
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path

import docker
import msgspec
import pytest

from levelfield.launchers.docker import DockerLauncher
from tests.commands import IMPORTS
from tests.engines import PrivateEngine
from tests.servers import certificate

pytestmark = [pytest.mark.docker, pytest.mark.extended]
ADDRESS = "tcp://127.0.0.1:2376"  # in the engine's own network namespace
SCRIPT = textwrap.dedent(
    """
    import contextlib, os, sys
    from pathlib import Path
    import msgspec
    from levelfield.launchers import worker as workers
    from levelfield.launchers.docker import DockerLauncher, connect
    from levelfield.launchers.protocol import LaunchSpec
    from levelfield.record.schema import Image
    from levelfield.worker.messages import Load, Loaded, Task, Verified, Verify
    image = msgspec.json.decode(sys.argv[1], type=Image)
    artifacts = Path(os.environ["LEVELFIELD_CACHE"]) / "artifacts"
    artifacts.mkdir(parents=True)
    with contextlib.closing(connect()) as client:
        spec = LaunchSpec("test", image, 1, (min(os.sched_getaffinity(0)),), 512 << 20, artifacts)
        worker = DockerLauncher(client).launch(spec)
        worker.await_ready(60)
        worker.ask(Load(Task("canary", "canary", 1, 1)), Loaded, 60)
        assert len(worker.ask(Verify(64), Verified, 60).output) == 64 * 513 * 4
        workers.GRACE_S = 60
        worker.stop()
        assert not worker._channel.ending().killed_here, "it ended by itself"
    """
)


def test_a_worker_answers_over_tls(engine: docker.DockerClient, tmp_path: Path) -> None:
    image = DockerLauncher(engine).prepare("canary", "cpu", None, lambda _: None)
    made, key = certificate(tmp_path)
    for name in ("ca", "cert"):  # as docker's client looks for them, beside key.pem
        shutil.copyfile(made, tmp_path / f"{name}.pem")
    files = [f"--tls{name}={file}" for name, file in (("cacert", made), ("cert", made), ("key", key))]
    with contextlib.closing(PrivateEngine(options=["--host", ADDRESS, "--tlsverify", *files])) as private:
        private.load(engine, image.tag)
        done = subprocess.run(
            ["nsenter", f"--net=/proc/{private.pid}/ns/net", sys.executable, "-c", SCRIPT, msgspec.json.encode(image)],
            env={
                **os.environ, "PYTHONPATH": IMPORTS, "LEVELFIELD_CACHE": str(tmp_path / "cache"),
                "DOCKER_HOST": ADDRESS, "DOCKER_TLS_VERIFY": "1", "DOCKER_CERT_PATH": str(tmp_path),
                "REQUESTS_CA_BUNDLE": os.devnull,
            },
            check=False,
            capture_output=True,
            text=True,
        )  # fmt: skip
    assert done.returncode == 0, done.stderr
