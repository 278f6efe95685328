"""An image as an archive that engines load: a configuration of our own over layers that were written here.

The engine gets the layers that it lacks. Docker's classic store takes an archive without those that it has; others
(containerd's store, podman) want all of them, and are given what they hold themselves.

References
----------
Docker image specification v1.2, "Combined Image JSON + Filesystem Changeset Format".
"""

import datetime as dt
import gzip
import hashlib
import io
import shutil
import tarfile
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, BinaryIO

import docker
import msgspec
import requests
from docker.errors import DockerException, ImageNotFound

from levelfield.errors import LevelfieldError, explained, one_line
from levelfield.images.layer import EPOCH
from levelfield.machine.engine import refused
from levelfield.paths import temporary_folder

_CHUNK_BYTES = 1024 * 1024
_CREATED = dt.datetime.fromtimestamp(EPOCH, dt.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
END = b"\0" * 1024
"""Two blocks of zeros end a tar archive. podman reads no further, and fails where more is sent."""


class Image(msgspec.Struct, frozen=True):
    """An image to load: its name, its configuration, and the digests of its layers from the base up."""

    tag: str
    configuration: bytes
    layers: tuple[str, ...]

    @property
    def image_id(self) -> str:
        """Digest of the configuration: the image's id in Docker's classic store and in podman."""
        return f"sha256:{hashlib.sha256(self.configuration).hexdigest()}"


def image(tag: str, layers: Sequence[str], *, architecture: str, config: Mapping[str, Any]) -> Image:
    content = {
        "architecture": architecture,
        "config": {name: value for name, value in config.items() if value},
        "created": _CREATED,
        "os": "linux",
        "rootfs": {"diff_ids": list(layers), "type": "layers"},
    }
    return Image(tag, msgspec.json.encode(content, order="deterministic"), tuple(layers))


def load(client: docker.DockerClient, images: Sequence[Image], files: Mapping[str, Path], below: str) -> None:
    """Give images to the engine.

    `images`: they share their layers as far as they have the same. `below`: an image of the engine that has all other
    layers; empty: there are none. Raises LevelfieldError: the engine does not take them.
    """
    problem = _try(client, images, files)
    if problem and below:
        with temporary_folder("layers") as folder:
            problem = _try(client, images, {**saved(client, below, folder)[1], **files})
    if problem:
        raise refused(f"loading {images[-1].tag}: {problem}")


def archive(images: Sequence[Image], files: Mapping[str, Path]) -> Iterator[bytes]:
    """Yield the archive of images in pieces; a layer without a file is named and left out."""
    listed = [
        {"Config": _config_name(each), "RepoTags": [each.tag], "Layers": [_layer_name(layer) for layer in each.layers]}
        for each in images
    ]
    yield from member("manifest.json", msgspec.json.encode(listed, order="deterministic"))
    configurations = sorted({_config_name(each): each.configuration for each in images}.items())
    layers = sorted({layer for each in images for layer in each.layers} & files.keys())
    yield from files_archive([*configurations, *((_layer_name(layer), files[layer]) for layer in layers)])


def saved(client: docker.DockerClient, tag: str, folder: Path) -> tuple[Image, dict[str, Path]]:
    """Write the layers of an image that the engine has into a folder; return the image, and the files by digest.

    Raises LevelfieldError: the engine gives something else than the image.
    """
    files: dict[str, Path] = {}
    with (
        explained(
            f"The container engine gave no archive of {tag} such as `docker save` writes.",
            "See `docker save` of that engine; archives need its classic format.",
            tarfile.TarError,
            msgspec.MsgspecError,
            KeyError,
            ValueError,
        ),
        tempfile.TemporaryFile(dir=folder) as spool,
    ):
        spool.writelines(client.images.get(tag).save(chunk_size=_CHUNK_BYTES, named=True))
        spool.seek(0)
        with tarfile.open(fileobj=spool, mode="r:") as source:
            (manifest,) = msgspec.json.decode(_content(source, "manifest.json").read(), type=tuple[_Manifest])
            configuration = _content(source, manifest.config).read()
            layers = msgspec.json.decode(configuration, type=_Configuration).rootfs.diff_ids
            for digest, name in zip(layers, manifest.layers, strict=True):
                files[digest] = plain(_content(source, name), folder, digest)
    return Image(tag, configuration, layers), files


class _Manifest(msgspec.Struct, frozen=True, forbid_unknown_fields=False):
    config: str = msgspec.field(name="Config")
    layers: tuple[str, ...] = msgspec.field(name="Layers")


class _RootFs(msgspec.Struct, frozen=True, forbid_unknown_fields=False):
    diff_ids: tuple[str, ...]


class _Configuration(msgspec.Struct, frozen=True, forbid_unknown_fields=False):
    rootfs: _RootFs


def _try(client: docker.DockerClient, images: Sequence[Image], files: Mapping[str, Path]) -> str:
    """Load images; return what the engine said where one of them is not there afterwards, or an empty text."""
    said = "it says nothing"
    try:
        for event in client.api.load_image(archive(images, files)):  # type: ignore[no-untyped-call]
            said = str(event.get("error") or said)
        return "" if all(_has(client, each) for each in images) else said
    except (DockerException, requests.RequestException) as error:
        return one_line(str(getattr(error, "explanation", None) or error), 300)


def _has(client: docker.DockerClient, wanted: Image) -> bool:
    try:
        attributes = client.images.get(wanted.tag).attrs
    except ImageNotFound:
        return False
    labels = msgspec.json.decode(wanted.configuration)["config"].get("Labels", {})
    return tuple(attributes["RootFS"]["Layers"]) == wanted.layers and attributes["Config"].get("Labels") == labels


def _config_name(wanted: Image) -> str:
    return f"{wanted.image_id.removeprefix('sha256:')}.json"


def _layer_name(digest: str) -> str:
    return f"{digest.removeprefix('sha256:')}.tar"


def member(name: str, content: bytes | Path) -> Iterator[bytes]:
    """Yield a file of an archive in pieces, with a fixed owner, mode and time."""
    header = tarfile.TarInfo(name)
    header.mtime = EPOCH
    header.size = len(content) if isinstance(content, bytes) else content.stat().st_size
    yield header.tobuf(tarfile.GNU_FORMAT)
    with io.BytesIO(content) if isinstance(content, bytes) else content.open("rb") as stream:
        while piece := stream.read(_CHUNK_BYTES):
            yield piece
    yield b"\0" * (-header.size % tarfile.BLOCKSIZE)


def files_archive(contents: Iterable[tuple[str, bytes | Path]]) -> Iterator[bytes]:
    """Yield an archive of files in pieces: it may be larger than memory and disk."""
    for name, content in contents:
        yield from member(name, content)
    yield END


def _content(source: tarfile.TarFile, name: str) -> BinaryIO:
    found = source.extractfile(name)  # engines before 25 write a layer that occurs twice as a link
    if found is None:
        raise KeyError(name)
    return found  # type: ignore[return-value]  # it reads bytes


def plain(layer: BinaryIO, folder: Path, digest: str) -> Path:
    """Write a layer as the plain archive that its digest is of; some engines keep layers compressed."""
    compressed = layer.read(2) == b"\x1f\x8b"
    layer.seek(0)
    path = folder / _layer_name(digest)
    with path.open("w+b") as target, gzip.open(layer) if compressed else layer as source:
        shutil.copyfileobj(source, target, _CHUNK_BYTES)
        target.seek(0)
        if f"sha256:{hashlib.file_digest(target, 'sha256').hexdigest()}" != digest:
            raise LevelfieldError(
                f"The container engine gave another layer than {digest}.",
                fix="Its storage may be damaged: remove the image, and build it again.",
            )
    return path
