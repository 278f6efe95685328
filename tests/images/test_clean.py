from collections.abc import Iterator
from pathlib import Path

import docker
import pytest

from suite.images import clean, engine
from suite.paths import cache_folder

LABEL = "levelfield.test-of-clean"


def test_the_cache_is_emptied_and_what_is_not_ours_stays(cache: Path) -> None:
    (cache_folder("wheels") / "a.whl").write_bytes(bytes(100_000))
    (cache_folder("venvs") / "link").symlink_to("/")
    (cache / "thesis.txt").write_text("mine")
    (cache / "downloads").mkdir()
    (cache / "downloads" / "film.mp4").write_text("mine, too")
    assert cache_folder("downloads") == cache / "downloads"
    assert clean.clean_cache() >= 100_000
    assert sorted(path.name for path in cache.iterdir()) == ["downloads", "thesis.txt"]
    assert clean.clean_cache() == 0


@pytest.fixture
def client() -> Iterator[docker.DockerClient]:
    with engine.connect() as connected:
        yield connected


def _build(client: docker.DockerClient, tag: str, recipe: str) -> None:
    files = [("file", tag.encode())]
    engine.build(client, files, recipe=recipe.encode(), tag=tag, arguments={}, labels={LABEL: "1"})


@pytest.mark.docker
@pytest.mark.alone  # it counts what others may build
def test_images_that_stand_on_one_another_all_go_and_others_stay(client: docker.DockerClient) -> None:
    _build(client, "levelfield-test/one:1", "FROM scratch\nCOPY file /one\n")
    _build(client, "levelfield-test/two:1", "FROM levelfield-test/one:1\nCOPY file /two\n")
    others = {image.id for image in client.images.list() if LABEL not in image.labels}
    assert len(client.images.list(filters={"label": LABEL})) == 2
    clean.remove_images(client, LABEL)
    assert client.images.list(filters={"label": LABEL}) == []
    assert {image.id for image in client.images.list()} >= others
