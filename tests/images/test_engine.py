"""The container engine: what it builds, and what is said where none answers."""

import hashlib
import io
import json
from pathlib import Path

import docker
import pytest

from levelfield.errors import LevelfieldError
from levelfield.images import engine, layer, loading
from levelfield.images.build import build, recipe
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
    (cache_folder("wheels") / "a.whl").touch()
    (cache_folder("venvs") / "link").symlink_to("/")
    (cache / "thesis.txt").write_text("mine")
    (cache / "downloads").mkdir()
    (cache / "downloads" / "film.mp4").write_text("mine, too")
    assert cache_folder("downloads") == cache / "downloads"
    engine.clean_cache()
    assert sorted(path.name for path in cache.iterdir()) == ["downloads", "thesis.txt"]
    engine.clean_cache()


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


@pytest.fixture(scope="module")
def base() -> str:
    build("canary")
    return recipe("canary").base.reference


def install(client: docker.DockerClient, base: str, script: str) -> layer.Layer:
    command = ["/bin/sh", "-euc", script]
    with engine.container_of(client, base, [("inputs/name", b"given")], command=command) as container:
        return engine.layer_of(container, "/opt", "opt", io.BytesIO())


def containers(client: docker.DockerClient) -> set[str]:
    """Return the containers of installations, by id."""
    engine.wait_for_removals()
    return {each["Id"] for each in client.api.containers(all=True, filters={"name": "levelfield-install-"})}


@pytest.mark.docker
def test_a_layer_holds_what_the_command_wrote_and_not_what_it_was_given(client: docker.DockerClient, base: str) -> None:
    before = containers(client)
    made = install(client, base, "cp /mnt/inputs/name /opt/kept; echo lost > /mnt/inputs/other; chmod 644 /opt/kept")
    assert made == layer.of_files({"opt/kept": b"given"}, io.BytesIO())
    assert containers(client) <= before


@pytest.mark.docker
def test_a_command_that_fails_is_one_sentence_and_leaves_nothing(client: docker.DockerClient, base: str) -> None:
    before = containers(client)
    with pytest.raises(LevelfieldError, match=r"returned a non-zero code: 3\. Last output: no such wheel"):
        install(client, base, "echo no such wheel; exit 3")
    assert containers(client) <= before


@pytest.mark.docker
def test_a_command_has_neither_a_network_nor_the_users_proxies(
    base: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    proxies = {"httpProxy": "http://user:secret@proxy.invalid"}
    (tmp_path / "config.json").write_text(json.dumps({"proxies": {"default": proxies}}))
    monkeypatch.setenv("DOCKER_CONFIG", str(tmp_path))
    with engine.connect() as client, pytest.raises(LevelfieldError, match=r"Last output: lo / .*HOME=") as caught:
        install(client, base, "ls /sys/class/net; env | sort -r | tr '\\n' ' '; echo; exit 1")
    assert "secret" not in caught.value.message
