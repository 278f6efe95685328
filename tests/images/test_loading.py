"""Images that are loaded: the same configuration and layers give the same id, and only missing layers travel."""

import contextlib
import gzip
import hashlib
import io
from collections.abc import Iterator
from pathlib import Path

import docker
import pytest
from docker.errors import APIError

from levelfield.errors import LevelfieldError
from levelfield.images import layer, loading

TAG = "levelfield-test/loaded"


@pytest.fixture(autouse=True)
def _no_images_stay(client: docker.DockerClient) -> Iterator[None]:
    yield
    for image in client.images.list(name=TAG):
        for tag in image.tags:
            with contextlib.suppress(APIError):
                client.images.remove(tag)


def written(folder: Path, name: str) -> tuple[str, Path]:
    path = folder / f"{name}.tar"
    with path.open("wb") as stream:
        return layer.of_files({name: name.encode()}, stream).diff_id, path


def image(tag: str, *layers: str) -> loading.Image:
    return loading.image(f"{TAG}:{tag}", layers, architecture="amd64", config={"Cmd": ["/x"], "Labels": {"a": tag}})


@pytest.mark.docker
def test_what_is_loaded_is_what_was_described_and_only_new_layers_travel(
    client: docker.DockerClient, tmp_path: Path
) -> None:
    below, above = written(tmp_path, "below"), written(tmp_path, "above")
    first, second = image("1", below[0]), image("2", below[0], above[0])
    loading.load(client, [first], dict([below]), "")
    loading.load(client, [second], dict([above]), first.tag)
    there = client.images.get(second.tag)
    assert tuple(there.attrs["RootFS"]["Layers"]) == second.layers
    assert there.labels == {"a": "2"}
    back, files = loading.saved(client, second.tag, tmp_path)
    assert back == second
    assert [files[digest].read_bytes() for digest in second.layers] == [below[1].read_bytes(), above[1].read_bytes()]


def test_a_layer_is_kept_plain_and_checked(tmp_path: Path) -> None:
    content = b"content" * 1000
    digest = f"sha256:{hashlib.sha256(content).hexdigest()}"
    for stored in (content, gzip.compress(content)):
        assert loading.plain(io.BytesIO(stored), tmp_path, digest).read_bytes() == content
    with pytest.raises(LevelfieldError, match="another layer"):
        loading.plain(io.BytesIO(content[1:]), tmp_path, digest)
