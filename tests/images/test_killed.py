"""A build that is killed at any moment: the next one leaves nothing behind."""

import contextlib
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import docker
import psutil
import pytest

from levelfield.images import base, catalogue
from levelfield.images.build import build, recipe
from levelfield.images.engine import BUILD
from levelfield.paths import MARK, cache_root
from levelfield.schedule.outcomes import run_jobs
from tests.commands import IMPORTS, Command, eventually
from tests.engines import PrivateEngine
from tests.launchers.scripts import gone

if TYPE_CHECKING:
    from levelfield.record.schema import Image


COMMAND = [sys.executable, "-m", "levelfield.cli", "images", "build", "canary"]


@pytest.fixture
def empty(engine: docker.DockerClient) -> Iterator[PrivateEngine]:
    """An engine that has the canary's base, and nothing else."""
    if os.getuid() != 0 or shutil.which("dockerd") is None:
        pytest.skip("Starting a second engine needs root and dockerd.")
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
            return any((cache / "temporary").glob("fetching-*/temporary"))

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


@pytest.mark.docker
def test_versions_of_one_image_are_built_at_once_from_nothing(
    engine: docker.DockerClient, private_engine: PrivateEngine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain = build("canary")  # its wheels and its base are there then
    lock, wheels = catalogue.lock("canary"), cache_root() / "wheels"
    private_engine.load(engine, recipe("canary").base.reference)
    monkeypatch.setenv("DOCKER_HOST", private_engine.host)
    monkeypatch.setenv("LEVELFIELD_CACHE", str(tmp_path))
    (tmp_path / "wheels").symlink_to(wheels)
    catalogue.mixed_folder("canary").mkdir(parents=True)
    versions = [f"without-{pin.name}" for pin in lock.pins]
    for version, left_out in zip(versions, lock.pins, strict=True):
        pins = tuple(pin for pin in lock.pins if pin is not left_out)
        catalogue.write(catalogue.mixed_folder("canary") / f"cpu@{version}.lock", pins)
    made: dict[str, Image] = {}
    steps: list[str] = []

    def one(version: str) -> None:
        made[version] = build("canary", "cpu", version, progress=steps.append)

    other = Command("images", "build", f"canary@{versions[0]}", folder=tmp_path)
    run_jobs([partial(one, version) for version in versions], at_once=len(versions))
    other.wait()
    assert other.code == 0, other.err
    steps += other.out.splitlines()
    assert len([step for step in steps if step.startswith("installing")]) == len(versions)  # each is built once
    assert len({built.layers for built in made.values()} | {plain.layers}) == len(versions) + 1 >= 4
    with contextlib.closing(docker.DockerClient(private_engine.host)) as own:
        for built in made.values():
            assert own.images.get(built.tag).id == built.image_id
        assert own.images.list(filters={"dangling": True}) == []
