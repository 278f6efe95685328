"""The files that nodes lack, put into Ray's object store once for all nodes that lack the same."""

import hashlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import IO, Any

import msgspec

from levelfield.images.bundle import pack
from levelfield.images.wheels import Progress
from levelfield.paths import temporary_folder
from levelfield.record.references import parse
from levelfield_fleet.run import place
from levelfield_fleet.run.messages import CHUNK_BYTES


class Bundle(msgspec.Struct, frozen=True):
    """A bundle in the object store."""

    sha256: str = ""
    """Empty: there is none."""
    chunks: tuple[Any, ...] = ()
    """References to its pieces."""


def put(references: Iterable[str], launcher: str, progress: Progress) -> Bundle:
    """Pack what images are made of, and put it into the object store.

    Raises LevelfieldError: a file cannot be fetched here.
    """
    with temporary_folder("fleet") as folder:
        path = Path(folder) / "bundle"
        pack(map(parse, references), path, bases=launcher == "docker", tool=False, progress=progress)
        digest = hashlib.sha256()
        chunks = []
        with path.open("rb") as file:
            for chunk in pieces(file):
                digest.update(chunk)
                chunks.append(place.put(chunk))
    return Bundle(digest.hexdigest(), tuple(chunks))


def pieces(file: IO[bytes]) -> Iterator[bytes]:
    """Read a file in pieces of `CHUNK_BYTES`."""
    while chunk := file.read(CHUNK_BYTES):
        yield chunk
