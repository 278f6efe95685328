"""A build that is killed at any moment: the next one leaves nothing behind."""

import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import docker
import psutil
import pytest

from levelfield.images import base
from levelfield.images.build import build
from levelfield.images.engine import BUILD
from levelfield.paths import MARK
from tests.commands import IMPORTS, eventually
from tests.engines import PrivateEngine
from tests.launchers.scripts import gone

COMMAND = [sys.executable, "-m", "levelfield.cli", "images", "build", "canary"]


@pytest.fixture
def empty(engine: docker.DockerClient) -> Iterator[PrivateEngine]:
    """An engine that has the canary's base, and nothing else."""
    build("canary")
    with contextlib.closing(PrivateEngine()) as one:
        one.load(engine, base.describe("slim").reference)
        yield one


@pytest.mark.extended
@pytest.mark.docker
def test_nothing_is_left_of_builds_that_were_killed(empty: PrivateEngine, tmp_path: Path) -> None:
    cache, temporary = tmp_path / "cache", tmp_path / "temporary"
    temporary.mkdir()
    environment = {
        **os.environ,
        "DOCKER_HOST": empty.host,
        "LEVELFIELD_CACHE": str(cache),
        "TMPDIR": str(temporary),
        "PYTHONPATH": IMPORTS,
    }
    with contextlib.closing(docker.DockerClient(empty.host)) as client:

        def fetching() -> bool:
            return any((cache / "temporary").glob("program-*"))

        def installing() -> bool:
            return bool(client.containers.list(filters={"label": BUILD}, ignore_removed=True))

        moments: list[tuple[Callable[[], bool], signal.Signals]] = [
            (fetching, signal.SIGKILL),
            (fetching, signal.SIGTERM),
            (installing, signal.SIGKILL),
            (installing, signal.SIGINT),
        ]
        for moment, number in moments:
            with subprocess.Popen(COMMAND, env=environment, cwd=tmp_path, stdout=subprocess.DEVNULL) as command:
                assert eventually(lambda: moment() or command.poll() is not None)  # noqa: B023
                assert command.poll() is None, "it ended before it could be killed"
                children = psutil.Process(command.pid).children(recursive=True)
                command.send_signal(number)
            assert all(eventually(lambda: gone(child.pid)) for child in children)  # noqa: B023
        subprocess.run(COMMAND, env=environment, cwd=tmp_path, check=True)
        assert not client.containers.list(all=True)
        assert not client.volumes.list()
        assert not client.images.list(filters={"dangling": True})
    assert [each.name for each in (cache / "temporary").iterdir()] == [MARK]
    assert not list(temporary.iterdir())
