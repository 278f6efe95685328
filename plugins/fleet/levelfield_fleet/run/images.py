"""The images that all nodes must measure with, as the head's own locks make them, and files that nodes lack for them.

Builds are bit-identical: where the head has an engine it builds each image too, and the layers must be the same.
Otherwise images are told apart by their tags, which are digests of all that they are made from.
"""

import hashlib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import msgspec

from levelfield.errors import LevelfieldError
from levelfield.images import build, catalogue, engine
from levelfield.images.base import Source
from levelfield.images.build import recipe
from levelfield.images.bundle import pack
from levelfield.images.wheels import Progress
from levelfield.paths import temporary_folder
from levelfield.record.references import Reference, parse
from levelfield.record.schema import Image
from levelfield_fleet.run.messages import CHUNK_BYTES


class Expected(msgspec.Struct, frozen=True):
    """What an image must be."""

    lock_sha256: str
    tag: str = ""
    """Of a container image."""
    layers: tuple[str, ...] = ()
    """Digests, where the head has the image; none: they are not compared."""


def expected(references: Iterable[str], launcher: str, base: Source, progress: Progress) -> dict[str, Expected]:
    """Return what images must be, by the name of `name_of`. Raises LevelfieldError: one cannot be found or built."""
    built = launcher == "docker" and _has_engine()
    found = {}
    for each in map(parse, references):
        lock = catalogue.lock(each.name, each.variant, each.version)
        if launcher == "docker":
            tag = recipe(each.name, each.variant, each.version, base).tag
            layers = (
                build.build(each.name, each.variant, each.version, base_source=base, progress=progress).layers
                if built
                else ()
            )
            found[name_of(each)] = Expected(lock.sha256, tag, layers)
        else:
            found[name_of(each)] = Expected(lock.sha256)
    return found


def _has_engine() -> bool:
    try:
        with engine.connect():
            return True
    except LevelfieldError:
        return False


def name_of(reference: Reference | str) -> str:
    """Return the name of an image as records have it: `onnxruntime cpu@1.30.0`."""
    found = parse(reference) if isinstance(reference, str) else reference
    return f"{found.name} {catalogue.stem(found.variant, found.version)}"


def difference(images: Iterable[Image], wanted: Mapping[str, Expected]) -> str:
    """Say in a phrase how the images of a record differ from those that were asked for; empty where they do not."""
    for image in images:
        if image.launcher == "host":
            continue
        want = wanted.get(f"{image.name} {image.variant}")
        if want is None:
            return f"{image.name} {image.variant} was not asked for"
        if image.lock_sha256 != want.lock_sha256:
            return f"the lock of {image.name} is {image.lock_sha256[:12]}, and {want.lock_sha256[:12]} here"
        if want.tag and image.tag != want.tag:
            return f"{image.name} is {image.tag[:80]}, and {want.tag} here"
        if want.layers and image.layers != want.layers:
            return f"the layers of {image.name} are not those that were built here"
    return ""


class Bundle(msgspec.Struct, frozen=True):
    """A bundle in the object store."""

    sha256: str = ""
    """Empty: there is none."""
    chunks: tuple[Any, ...] = ()
    """References to its pieces."""


def bundle(references: Iterable[str], launcher: str, progress: Progress) -> Bundle:
    """Pack what images are made of into the object store. Raises LevelfieldError: a file cannot be fetched here."""
    import ray

    with temporary_folder("fleet") as folder:
        path = Path(folder) / "bundle"
        pack(map(parse, references), path, bases=launcher == "docker", tool=False, progress=progress)
        digest = hashlib.sha256()
        chunks = []
        with path.open("rb") as file:
            while chunk := file.read(CHUNK_BYTES):
                digest.update(chunk)
                chunks.append(ray.put(chunk))
    return Bundle(digest.hexdigest(), tuple(chunks))
