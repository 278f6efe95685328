"""Builds beside one another, in one process and in several: none touches what another is still making."""

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import docker
import pytest

from suite.images import catalogue, clean, engine
from suite.images.build import build
from suite.images.recipe import recipe
from suite.paths import cache_root
from suite.schedule import parallel
from tests.commands import ROOT, Command, eventually
from tests.engines import PrivateEngine

if TYPE_CHECKING:
    from suite.record.schema import Image

pytestmark = pytest.mark.docker

LABEL = "levelfield.test-of-builds"
ELSEWHERE = """
import sys
from suite.images import engine
with engine.connect() as client:
    engine.build(client, [("file", b"1")], recipe=sys.argv[2].encode(), tag=sys.argv[1], arguments={}, labels={})
"""


@pytest.fixture
def client() -> Iterator[docker.DockerClient]:
    with engine.connect() as connected:
        yield connected


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

    other = Command("build", f"canary@{versions[0]}", folder=tmp_path)
    parallel.run([partial(one, version) for version in versions], at_once=len(versions))
    other.wait()
    assert other.code == 0, other.err
    steps += other.out.splitlines()
    assert len([step for step in steps if step.startswith("installing")]) == len(versions)  # each is built once
    assert len({built.layers for built in made.values()} | {plain.layers}) == len(versions) + 1 >= 4
    with contextlib.closing(docker.DockerClient(private_engine.host)) as own:
        for built in made.values():
            assert own.images.get(built.tag).id == built.image_id
        assert own.images.list(filters={"dangling": True}) == []


def _elsewhere(tag: str, *steps: str) -> "subprocess.Popen[bytes]":
    """Build an image in another process."""
    text = "\n".join(["FROM scratch", f"LABEL {LABEL}=1", "COPY file /file", *steps])
    return subprocess.Popen(
        [sys.executable, "-c", ELSEWHERE, tag, text],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stderr=subprocess.PIPE,
    )


def _unfinished(client: docker.DockerClient) -> list[str]:
    return [each["Id"] for each in client.api.images(filters={"dangling": True, "label": LABEL})]


def test_what_another_process_builds_is_left_alone(client: docker.DockerClient) -> None:
    """A step that labels has no container that would keep its image in use: there are many of them here."""
    tag = "levelfield-test/labels:1"
    process = _elsewhere(tag, *(f"LABEL step{number}={number}" for number in range(40)))
    seen: set[str] = set()
    while process.poll() is None:
        seen.update(_unfinished(client))
        engine.remove_dangling(client, engine.builder_is_dead)
        if len(seen) < 10:  # and not when the image is finished: that one `clean` removes
            clean.remove_images(client, LABEL)
    assert process.communicate()[1] == b""
    assert process.returncode == 0
    assert len(seen) >= 10
    client.images.remove(tag)
    assert _unfinished(client) == []


@pytest.mark.alone  # any other build would remove what the killed one left
def test_a_build_that_ends_leaves_unfinished_images_of_its_name_alone(client: docker.DockerClient) -> None:
    """Of two versions of one image, the one that is done first removes what it left itself."""
    labels = (f"LABEL step{number}={number}" for number in range(2000))
    process = _elsewhere("levelfield-test/versions:1", "LABEL levelfield.image=canary", *labels)
    assert eventually(lambda: process.poll() is not None or bool(_unfinished(client)))
    build("canary", use_cache=False)
    for _ in range(3):  # steps that stand on the one before
        here = _unfinished(client)
        assert eventually(lambda: process.poll() is not None or _unfinished(client) != here)  # noqa: B023
    ended = process.poll()
    process.kill()
    assert ended is None, process.communicate()[1].decode()
    process.communicate()
    assert eventually(lambda: _stopped(client))
    clean.remove_images(client, LABEL)


def _stopped(client: docker.DockerClient) -> bool:
    """Whether the engine works on no build of ours any more, and something is left of it."""
    before = _unfinished(client)
    time.sleep(1.0)
    return bool(before) and _unfinished(client) == before


@pytest.mark.alone
@pytest.mark.parametrize("by", ["the next build", "clean"])
def test_what_a_killed_process_left_is_removed(client: docker.DockerClient, by: str) -> None:
    process = _elsewhere("levelfield-test/killed:1", *(f"LABEL step{number}={number}" for number in range(200)))
    assert eventually(lambda: process.poll() is not None or bool(_unfinished(client)))
    process.send_signal(signal.SIGKILL)
    process.communicate()
    assert eventually(lambda: _stopped(client))
    if by == "clean":
        clean.remove_images(client, LABEL)
    else:
        engine.remove_dangling(client, engine.builder_is_dead)
    assert _unfinished(client) == []
