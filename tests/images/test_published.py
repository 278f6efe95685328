"""The file of digests: written and read, and what is no such file."""

import os
import re
from pathlib import Path

import msgspec
import pytest

from levelfield.errors import LevelfieldError
from levelfield.images import published
from levelfield.images.published import ImagesFile, Published

ONE = Published(
    image="onnxruntime",
    variant="cu13@1.30.0",
    identity="0" * 64,
    reference=f"registry.example.org:5000/team/levelfield/onnxruntime@sha256:{'1' * 64}",
    layers=(f"sha256:{'2' * 64}", f"sha256:{'3' * 64}"),
)


def test_what_is_written_is_read(tmp_path: Path) -> None:
    published.write((ONE,), tmp_path / "images.json")
    assert published.read(tmp_path / "images.json") == ImagesFile(format=published.FORMAT, images=(ONE,))
    assert str(ONE.name) == "onnxruntime@1.30.0+cu13"


def test_where_it_cannot_be_written_another_place_is_asked_for(tmp_path: Path) -> None:
    with pytest.raises(LevelfieldError, match=r"cannot be written.*--output"):
        published.write((ONE,), tmp_path / "nowhere" / "images.json")


@pytest.mark.parametrize(
    "address",
    ["localhost:5000", "localhost:5000/levelfield", "docker.io/someone/a-b_c", "[::1]:5000/x", "someone", "10.0.0.1/x"],
)
def test_addresses_of_registries(address: str) -> None:
    assert re.fullmatch(published.REPOSITORY, address)


@pytest.mark.parametrize(
    "address",
    [
        "",
        "https://localhost:5000",
        "localhost:5000/",
        "localhost/UPPER",
        "a b",
        "host/x:tag",
        "-rf",
        "host/../x",
        "x\n",
    ],
)
def test_what_is_no_address(address: str) -> None:
    assert not re.fullmatch(published.REPOSITORY, address)


def changed(**fields: object) -> bytes:
    return msgspec.json.encode({"format": published.FORMAT, "images": [{**msgspec.to_builtins(ONE), **fields}]})


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\xff",
        b"[" * 100_000,
        b"{}",
        changed()[:-1],
        changed().replace(b"images-1", b"images-2"),
        msgspec.json.encode({"format": published.FORMAT, "images": []}),
        changed(image="../../etc"),
        changed(image="a\x1b[2J"),
        changed(identity="0" * 63),
        changed(reference="localhost:5000/x:latest"),
        changed(reference=f"http://localhost:5000/x@sha256:{'1' * 64}"),
        changed(reference=f"localhost:5000/x@sha256:{'1' * 64}\n"),
        changed(layers=[]),
        changed(layers=["sha256:x"]),
        changed(layers=[f"sha256:{'2' * 64}"] * 129),
    ],
)
def test_what_is_no_such_file_is_one_sentence(content: bytes) -> None:
    with pytest.raises(LevelfieldError, match=r"^images.json names no images as `levelfield images push`"):
        published.decode(content, "images.json")


def test_files_that_never_end_are_not_read(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "long").write_bytes(b" " * (published.MOST_BYTES + 1))
    for name, says in (("pipe", "not a plain file"), ("long", "it is longer than"), ("gone", "No such file")):
        with pytest.raises(LevelfieldError, match=says):
            published.read(tmp_path / name)
