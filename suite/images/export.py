"""An image as one archive that `docker load` and podman take, for machines without registries; and its bill.

The engine's own archives hold times of the build. Ours hold the same layers under a configuration without them, so that
two builds of the same image give the same archive, byte for byte, and a loaded image has the same id everywhere.

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
from pathlib import Path
from typing import Any, BinaryIO

import msgspec

from suite.errors import LevelfieldError
from suite.images import engine, sbom
from suite.images.archive import EPOCH, add_file
from suite.images.wheels import Progress, silent
from suite.paths import cache_folder, disk_space
from suite.record.schema import Image

_CHUNK_BYTES = 1024 * 1024
_CREATED = dt.datetime.fromtimestamp(EPOCH, dt.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
_KEPT = ("architecture", "os", "config", "rootfs")
"""Fields of an engine's configuration that describe the image; the others describe how and when it was built."""
_KEPT_OF_CONFIG = ("User", "Env", "Entrypoint", "Cmd", "WorkingDir", "Labels", "Volumes", "ExposedPorts", "StopSignal")


class _Manifest(msgspec.Struct, frozen=True):
    config: str = msgspec.field(name="Config")
    layers: tuple[str, ...] = msgspec.field(name="Layers")


def export_image(image: Image, folder: Path, *, progress: Progress = silent) -> Path:
    """Write an image and its bill of materials into a folder.

    Parameters
    ----------
    image
        As `suite.images.build.build` returns it: the engine has it.
    folder
        Created if it is not there; files of the same names are replaced.
    progress : callable
        Called with one short line before writing.

    Returns
    -------
    Path
        The archive; the bill is beside it.

    Raises
    ------
    LevelfieldError
        The folder cannot be written, the disk is full, or the engine gives something else than the image.
    """
    stem = f"levelfield-{image.name}-{image.variant}"
    target = folder / f"{stem}.tar"
    progress(f"writing {target.name}")
    partial = folder / f".{target.name}.partial"
    try:
        with disk_space():
            folder.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryFile(dir=cache_folder("downloads")) as saved:
                _save(image.tag, saved)
                with partial.open("wb") as stream:
                    write(saved, stream, image.tag)
            partial.replace(target)
            (folder / f"{stem}{sbom.SUFFIX}").write_bytes(sbom.of_record(image))
    except OSError as error:
        raise LevelfieldError(
            f"The image cannot be written to {folder}: {error.strerror or error}.", fix="Choose another folder."
        ) from error
    finally:
        partial.unlink(missing_ok=True)
    return target


def _save(tag: str, stream: BinaryIO) -> None:
    with engine.connect() as client:
        stream.writelines(client.images.get(tag).save(chunk_size=_CHUNK_BYTES, named=True))
    stream.seek(0)


def write(saved: BinaryIO, target: BinaryIO, tag: str) -> None:
    """Write an engine's archive of one image again, without what differs between two builds.

    Parameters
    ----------
    saved
        What `docker save` gives, at its start.
    target
        Where to.
    tag
        Name that the image has once it is loaded.

    Raises
    ------
    LevelfieldError
        It is no such archive, or a layer is not what the image's configuration says.
    """
    try:
        with tarfile.open(fileobj=saved, mode="r:") as source:
            (manifest,) = msgspec.json.decode(_member(source, "manifest.json").read(), type=tuple[_Manifest])
            config = _without_times(msgspec.json.decode(_member(source, manifest.config).read()))
            digests = [str(digest).removeprefix("sha256:") for digest in config["rootfs"]["diff_ids"]]
            if len(digests) != len(manifest.layers):
                raise _not_an_image(tag)
            content = msgspec.json.encode(config, order="deterministic")
            name = f"{hashlib.sha256(content).hexdigest()}.json"
            layers = [f"{digest}.tar" for digest in digests]
            listed = [{"Config": name, "RepoTags": [tag], "Layers": layers}]
            with tarfile.open(fileobj=target, mode="w", format=tarfile.PAX_FORMAT) as archive:
                add_file(archive, "manifest.json", io.BytesIO(msgspec.json.encode(listed, order="deterministic")))
                add_file(archive, name, io.BytesIO(content))
                sources = dict(zip(layers, manifest.layers, strict=True))  # a layer may occur twice: it is written once
                for layer in sorted(sources):
                    _copy(archive, layer, _member(source, sources[layer]))
    except (tarfile.TarError, msgspec.MsgspecError, KeyError, TypeError, ValueError) as error:
        raise _not_an_image(tag) from error


def _without_times(config: dict[str, Any]) -> dict[str, Any]:
    kept = {name: config[name] for name in _KEPT}
    kept["config"] = {name: kept["config"][name] for name in _KEPT_OF_CONFIG if kept["config"].get(name)}
    kept["config"].get("Labels", {}).pop(engine.BUILD, None)
    return {**kept, "created": _CREATED}


def _member(source: tarfile.TarFile, name: str) -> BinaryIO:
    found = source.extractfile(name)  # engines before 25 write a layer that occurs twice as a link
    if found is None:
        raise KeyError(name)
    return found  # type: ignore[return-value]  # it reads bytes


def _copy(archive: tarfile.TarFile, name: str, layer: BinaryIO) -> None:
    """Copy a layer as the plain archive that its digest is of; some engines keep layers compressed."""
    if layer.read(2) == b"\x1f\x8b":
        layer.seek(0)
        with tempfile.TemporaryFile(dir=cache_folder("downloads")) as plain, gzip.open(layer) as packed:
            shutil.copyfileobj(packed, plain, _CHUNK_BYTES)
            _add_stream(archive, name, plain)
        return
    _add_stream(archive, name, layer)


def _add_stream(archive: tarfile.TarFile, name: str, stream: BinaryIO) -> None:
    stream.seek(0)
    if f"{hashlib.file_digest(stream, 'sha256').hexdigest()}.tar" != name:  # type: ignore[arg-type]
        raise LevelfieldError(
            f"The container engine gave another layer than {name.removesuffix('.tar')}.",
            fix="Its storage may be damaged: remove the image, and build it again.",
        )
    add_file(archive, name, stream)


def _not_an_image(tag: str) -> LevelfieldError:
    return LevelfieldError(
        f"The container engine gave no archive of {tag} such as `docker save` writes.",
        fix="See `docker save` of that engine; archives need its classic format.",
    )
