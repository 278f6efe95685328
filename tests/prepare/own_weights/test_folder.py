"""Folders are read as they are saved, from one file or several; whatever is wrong is one sentence."""

import json
import os
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from levelfield.errors import LevelfieldError
from levelfield.prepare.own_weights import folder
from levelfield.prepare.own_weights.folder import MOST_HEADER_BYTES, Mapped
from tests.prepare.own_weights import saved
from tests.prepare.own_weights.saved import framed, safetensors


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
    assert "model.safetensors" in error.message
    assert "save_pretrained" in error.fix
    assert not (tmp_path / "ran").exists()


def index(path: Path) -> dict[str, dict[str, str]]:
    found: dict[str, dict[str, str]] = json.loads((path / folder.INDEX).read_text())
    return found


@pytest.mark.parametrize("shard", ["../elsewhere.safetensors", "..", ".hidden.safetensors", ""])
def test_an_index_that_leaves_the_folder_is_refused(tmp_path: Path, shard: str) -> None:
    path = saved.bert(tmp_path / "several", shards=2)
    saved.bert(tmp_path / "elsewhere")
    said = index(path)
    said["weight_map"]["embeddings.word_embeddings.weight"] = shard
    (path / folder.INDEX).write_text(json.dumps(said))
    assert "outside of the folder" in refused(path).message


def test_an_index_that_names_one_file_many_times_is_refused(tmp_path: Path) -> None:
    path = saved.bert(tmp_path / "several", shards=2)
    first, second = sorted(set(index(path)["weight_map"].values()))
    (path / second).unlink()
    (path / second).symlink_to(first)
    assert "names one file several times" in refused(path).message


@pytest.mark.parametrize("content", [b"", b'{"weight_map": {}}', b"[" * 100_000])
def test_a_damaged_index_is_refused(tmp_path: Path, content: bytes) -> None:
    path = saved.bert(tmp_path / "several", shards=2)
    (path / folder.INDEX).write_bytes(content)
    assert folder.INDEX in refused(path).message


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


@pytest.mark.parametrize("name", ["\x1b[31m", "missing"])
def test_what_is_no_folder_of_a_network_is_refused(tmp_path: Path, name: str) -> None:
    refused(tmp_path / name)
    (tmp_path / name).mkdir()
    assert "config.json" in refused(tmp_path / name).message
    (tmp_path / name / "config.json").write_text("{}")
    assert "model.safetensors" in refused(tmp_path / name).message


# ---- safetensors files -----------------------------------------------------------------------------------------------


def mapped(path: Path, content: bytes) -> Mapped:
    path.write_bytes(content)
    with path.open("rb") as file:
        return Mapped(file)


def header(**tensors: Any) -> bytes:
    return json.dumps(tensors).encode()


def stored(begin: int, end: int, shape: list[int], dtype: str = "F32") -> dict[str, Any]:
    return {"dtype": dtype, "shape": shape, "data_offsets": [begin, end]}


def test_tensors_become_float32_without_rounding(tmp_path: Path) -> None:
    exact = np.arange(6, dtype=np.float32).reshape(2, 3) - 2.5
    half = exact.astype(np.float16)
    brain = (exact.view(np.uint32) >> 16).astype(np.uint16)
    found = mapped(tmp_path / "x", safetensors({"exact": exact, "half": half, "brain": brain}))
    for name in ("exact", "half", "brain"):
        array = found.read(name)
        assert array.dtype == np.float32
        assert np.array_equal(array, exact)


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "too short"),
        ((MOST_HEADER_BYTES + 1).to_bytes(8, "little") + b"{}" * 8, "are the most"),
        ((100).to_bytes(8, "little") + b"{}", "the file has"),
        (framed(b"[]"), "no JSON object"),
        (framed(b'{"x": 1}'), "cannot be read"),
        (framed(b'{"x": ' + b"[" * 100_000), "cannot be read"),
        (framed(header(x=stored(0, 8, [3])), b"\0" * 8), "not as many bytes"),
        (framed(header(x=stored(0, 4, [-1])), b"\0" * 4), "cannot be read"),
        (framed(header(x=stored(4, 8, [1])), b"\0" * 8), "overlaps another, or leaves a hole"),
        (framed(header(x=stored(0, 4, [1]), y=stored(0, 4, [1])), b"\0" * 4), "overlaps another"),
        (framed(header(x=stored(0, 4, [1])), b"\0" * 3), "may be cut off"),
        (framed(header(x=stored(0, 0, [1 << 40, 1 << 40, 1 << 40]))), "not as many bytes"),
    ],
    ids=lambda value: value[:24] if isinstance(value, str) else None,
)
def test_a_damaged_file_is_refused(tmp_path: Path, content: bytes, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        mapped(tmp_path / "x", content)
