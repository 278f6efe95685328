"""Images built on engines of other systems: the same layers and the same configuration as on this one."""

import contextlib
from pathlib import Path

import docker
import pytest

from levelfield.images import loading
from levelfield.images.build import recipe
from tests.commands import run
from tests.rigs import rig

pytestmark = [pytest.mark.docker, pytest.mark.extended]

IMAGES = ("canary", "onnxruntime")


def built(folder: Path, **environment: str) -> list[loading.Image]:
    """Build the images on an engine; return what it holds then."""
    done = run("images", "build", *IMAGES, folder=folder, environment=environment)
    assert done.code == 0, done.out + done.err
    host = environment.get("DOCKER_HOST")
    with contextlib.closing(docker.DockerClient(host) if host else docker.from_env()) as client:
        return [loading.saved(client, recipe(name).tag, folder)[0] for name in IMAGES]


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory) -> list[loading.Image]:
    return built(tmp_path_factory.mktemp("here"))


@pytest.mark.parametrize(
    ("system", "engine", "store"),
    [
        ("debian12", "docker", "default"),
        ("debian13", "docker", "overlay2"),
        ("debian13", "docker", "containerd"),
        ("ubuntu2404", "docker", "overlay2"),
        ("ubuntu2404", "docker", "containerd"),
        ("debian12", "podman", "default"),
        ("debian13", "podman", "default"),
    ],
)
def test_every_engine_builds_the_same(
    system: str, engine: str, store: str, here: list[loading.Image], tmp_path: Path
) -> None:
    with contextlib.ExitStack() as stack:
        try:
            machine = stack.enter_context(rig.machine(system, engine=engine, store=store))
        except rig.RigError as error:
            pytest.skip(str(error))
        there = built(tmp_path, DOCKER_HOST=machine.host)
    assert [image.layers for image in there] == [image.layers for image in here]
    assert [image.image_id for image in there] == [image.image_id for image in here]
