"""Builds beside one another, in one process and in several: each image is built once."""

import contextlib
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import docker
import pytest

from levelfield.images import catalogue
from levelfield.images.build import build
from levelfield.images.recipe import recipe
from levelfield.paths import cache_root
from levelfield.schedule import parallel
from tests.commands import Command
from tests.engines import PrivateEngine

if TYPE_CHECKING:
    from levelfield.record.schema import Image

pytestmark = pytest.mark.docker


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
