"""Folders are read as they are saved, from one file or several; whatever is wrong is one sentence."""

import json
import os
import pickle
from pathlib import Path

import numpy as np
import pytest

from levelfield.errors import LevelfieldError
from levelfield.prepare.own_weights import folder
from tests.prepare.own_weights import saved


@pytest.fixture
def network(tmp_path: Path) -> Path:
    return saved.bert(tmp_path / "bert")


def refused(path: Path) -> LevelfieldError:
    with pytest.raises(LevelfieldError) as caught:
        folder.read(path)
    assert caught.value.fix
    assert "\x1b" not in str(caught.value)
    return caught.value


def test_one_file_and_several_hold_the_same(tmp_path: Path, network: Path) -> None:
    one, several = folder.read(network), folder.read(saved.bert(tmp_path / "several", shards=3))
    assert one.tensors.keys() == several.tensors.keys()
    assert len(several.files) == 5
    for name in one.tensors:
        assert np.array_equal(one.read(name), several.read(name))


def test_a_snapshot_of_the_hubs_cache_is_read_through_its_links(tmp_path: Path, network: Path) -> None:
    blobs, snapshot = tmp_path / "cache" / "blobs", tmp_path / "cache" / "snapshots" / "abc"
    blobs.mkdir(parents=True)
    snapshot.mkdir(parents=True)
    for index, file in enumerate(network.iterdir()):
        file.rename(blobs / str(index))
        (snapshot / file.name).symlink_to(f"../../blobs/{index}")
    assert folder.read(snapshot).files.keys() == {"config.json", "model.safetensors"}


class Runs:
    """Leaves a file where it is unpickled."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[object, tuple[str]]:
        return os.mkdir, (str(self.path),)


@pytest.mark.parametrize("name", ["pytorch_model.bin", "model.safetensors"])
def test_nothing_is_unpickled(tmp_path: Path, network: Path, name: str) -> None:
    (network / "model.safetensors").unlink()
    (network / name).write_bytes(pickle.dumps(Runs(tmp_path / "ran")))
    error = refused(network)
    assert name in error.message
    assert "save_pretrained" in error.fix
    assert not (tmp_path / "ran").exists()


def index(path: Path) -> dict[str, dict[str, str]]:
    found: dict[str, dict[str, str]] = json.loads((path / folder.INDEX).read_text())
    return found


@pytest.mark.parametrize(
    "shard",
    [
        "../elsewhere.safetensors",
        "/etc/passwd",
        "sub/x.safetensors",
        "..",
        ".hidden.safetensors",
        "x\\y.safetensors",
        "",
    ],
)
def test_an_index_that_leaves_the_folder_is_refused(tmp_path: Path, shard: str) -> None:
    path = saved.bert(tmp_path / "several", shards=2)
    saved.bert(tmp_path / "elsewhere")
    said = index(path)
    said["weight_map"]["embeddings.word_embeddings.weight"] = shard
    (path / folder.INDEX).write_text(json.dumps(said))
    assert "outside of the folder" in refused(path).message


@pytest.mark.parametrize("content", [b"", b"{}", b'{"weight_map": 1}', b'{"weight_map": {}}', b"\xff", b"[" * 100_000])
def test_a_damaged_index_is_refused(tmp_path: Path, content: bytes) -> None:
    path = saved.bert(tmp_path / "several", shards=2)
    (path / folder.INDEX).write_bytes(content)
    assert folder.INDEX in refused(path).message


def test_a_missing_shard_is_named(tmp_path: Path) -> None:
    path = saved.bert(tmp_path / "several", shards=3)
    (path / "model-00002-of-00003.safetensors").unlink()
    assert "model-00002-of-00003.safetensors" in refused(path).message


@pytest.mark.parametrize("name", ["config.json", "model.safetensors"])
def test_a_link_to_elsewhere_is_refused(tmp_path: Path, network: Path, name: str) -> None:
    (network / name).rename(tmp_path / "elsewhere")
    (network / name).symlink_to(tmp_path / "elsewhere")
    assert f"{name} of " in refused(network).message
    assert "a link to a file outside of its folder" in refused(network).message


@pytest.mark.parametrize("name", ["config.json", "model.safetensors"])
def test_what_is_no_plain_file_is_refused(network: Path, name: str) -> None:
    (network / name).unlink()
    os.mkfifo(network / name)
    assert "not a plain file" in refused(network).message
    (network / name).unlink()
    (network / name).symlink_to(name)
    assert name in refused(network).message
    (network / name).unlink()
    (network / name).mkdir()
    assert "not a plain file" in refused(network).message


def test_a_pointer_of_git_lfs_is_told_apart(network: Path) -> None:
    (network / "model.safetensors").write_bytes(b"version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 1\n")
    assert "git lfs pull" in refused(network).fix


@pytest.mark.parametrize("name", ["\x1b[31m", "missing"])
def test_what_is_no_folder_of_a_network_is_refused(tmp_path: Path, name: str) -> None:
    refused(tmp_path / name)
    (tmp_path / name).mkdir()
    assert "config.json" in refused(tmp_path / name).message
    (tmp_path / name / "config.json").write_text("{}")
    assert "model.safetensors" in refused(tmp_path / name).message


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_values_that_are_no_numbers_are_refused(tmp_path: Path, value: float) -> None:
    path = saved.folder(tmp_path / "x", {}, {"x": np.array([1, value], np.float32)})
    with pytest.raises(LevelfieldError, match="infinite or no number"):
        folder.read(path).read("x")
