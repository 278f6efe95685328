"""The container engine: what it builds, and what is said where none answers."""

import hashlib
from collections.abc import Iterator
from pathlib import Path

import docker
import pytest

from levelfield.images import engine, layer, loading
from levelfield.images.build import recipe
from levelfield.paths import cache_folder
from levelfield.record.schema import Image


@pytest.mark.docker
def test_another_image_under_our_tag_is_not_taken_for_ours(client: docker.DockerClient, canary: Image) -> None:
    wanted = recipe("canary")
    assert engine.find(client, wanted.tag, wanted.identity) is not None
    assert engine.find(client, wanted.tag, hashlib.sha256(b"other").hexdigest()) is None
    assert engine.find(client, "levelfield/nothing:0", wanted.identity) is None


LABEL = "levelfield.test-of-clean"


def test_the_cache_is_emptied_and_what_is_not_ours_stays(cache: Path) -> None:
    (cache_folder("wheels") / "a.whl").write_bytes(bytes(100_000))
    (cache_folder("venvs") / "link").symlink_to("/")
    (cache / "thesis.txt").write_text("mine")
    (cache / "downloads").mkdir()
    (cache / "downloads" / "film.mp4").write_text("mine, too")
    assert cache_folder("downloads") == cache / "downloads"
    assert engine.clean_cache() >= 100_000
    assert sorted(path.name for path in cache.iterdir()) == ["downloads", "thesis.txt"]
    assert engine.clean_cache() == 0


@pytest.fixture
def client() -> Iterator[docker.DockerClient]:
    with engine.connect() as connected:
        yield connected


def _load(client: docker.DockerClient, folder: Path, *names: str) -> None:
    """Load an image with a layer for each name."""
    files = {}
    for name in names:
        with (folder / name).open("wb") as stream:
            files[layer.of_files({name: b""}, stream).diff_id] = folder / name
    config = {"Cmd": ["/x"], "Labels": {LABEL: "1"}}
    image = loading.image(f"levelfield-test/{names[-1]}:1", tuple(files), architecture="amd64", config=config)
    loading.load(client, [image], files, "")


@pytest.mark.docker
@pytest.mark.alone  # it counts what others may build
def test_images_that_stand_on_one_another_all_go_and_others_stay(client: docker.DockerClient, tmp_path: Path) -> None:
    _load(client, tmp_path, "one")
    _load(client, tmp_path, "one", "two")
    others = {image.id for image in client.images.list() if LABEL not in image.labels}
    assert len(client.images.list(filters={"label": LABEL})) == 2
    engine.remove_images(client, LABEL)
    assert client.images.list(filters={"label": LABEL}) == []
    assert {image.id for image in client.images.list()} >= others
