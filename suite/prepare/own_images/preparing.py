"""The one file of a user's own images: made once for what is in the folder, found again by its digest.

Every file is read once to know what is there, and a second time only where nothing was made of just that before. What
is read the second time must be what was read the first time.
"""

import hashlib
import io
from pathlib import Path
from typing import Annotated

import msgspec
import numpy as np

from suite.prepare.own_images import decoding
from suite.prepare.own_images.decoding import UnreadableError, decode
from suite.prepare.own_images.listing import Entry, Listing, UnusableError, digest, list_images, shown
from suite.prepare.own_images.resizing import square
from suite.record.files import write_atomically
from suite.safety import untrusted
from suite.zoo.own_images import RECORD, SHAPE

VERSION = "levelfield-own-images-1"
"""Of everything that decides what is made of a folder; another version, another file."""
KEY_CHARS = 24
_Digest = Annotated[str, msgspec.Meta(pattern=r"^[0-9a-f]{64}$")]
_Count = Annotated[int, msgspec.Meta(ge=1)]


class Prepared(msgspec.Struct, frozen=True):
    """What was made of a folder."""

    path: str
    """Under the artifacts folder."""
    source_sha256: _Digest
    """Of the folder: names and contents (`suite.prepare.own_images.listing.digest`)."""
    sha256: _Digest
    """Of the file."""
    size_bytes: _Count
    classes: _Count
    trained: _Count
    tested: _Count
    decoder: str = ""
    """What read the images, with its version; empty: the tool itself."""


def prepare(folder: Path, artifacts: Path, batch: int) -> Prepared:
    """Return what is made of a folder of images; make it if it is not there, or damaged.

    Parameters
    ----------
    folder
        What the user named.
    artifacts
        The artifacts folder of this machine's cache.
    batch
        Images in a training step.

    Raises
    ------
    UnusableError
        The folder cannot be trained on, or changed while it was read.
    OSError
        The file cannot be written.
    """
    listing = list_images(folder, batch)
    sums = {entry.name: hashlib.sha256(_content(listing, entry)).hexdigest() for entry in listing.entries}
    source = digest(sums.items())
    suffixes = {entry.suffix.lower() for entry in (*listing.trained, *listing.tested)}
    decoder = decoding.decoder() if suffixes & set(decoding.WITH_PILLOW) else ""
    key = hashlib.sha256(f"{VERSION}\n{decoder}\n{source}".encode()).hexdigest()[:KEY_CHARS]
    manifest = artifacts / "images" / f"{key}.json"
    found = kept(manifest, artifacts)
    if found is not None and found.source_sha256 == source:
        return found
    content = _made(listing, sums)
    made = Prepared(
        path=f"images/{key}.npy",
        source_sha256=source,
        sha256=hashlib.sha256(content).hexdigest(),
        size_bytes=len(content),
        classes=len(listing.classes),
        trained=len(listing.trained),
        tested=len(listing.tested),
        decoder=decoder,
    )
    manifest.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(artifacts / made.path, content)
    write_atomically(manifest, msgspec.json.encode(made))
    return made


def is_intact(prepared: Prepared, artifacts: Path) -> bool:
    """Return whether a prepared file exists and is unchanged.

    Parameters
    ----------
    prepared
        The file as it was made: path and digest.
    artifacts
        The artifacts folder, which its path is relative to.
    """
    try:
        with (artifacts / prepared.path).open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest() == prepared.sha256
    except OSError:
        return False


def kept(manifest: Path, artifacts: Path) -> Prepared | None:
    """Return what was made before and is intact; None where there is nothing of the kind.

    Parameters
    ----------
    manifest
        File that says what was made.
    artifacts
        The artifacts folder.
    """
    try:
        found = msgspec.json.decode(manifest.read_bytes(), type=Prepared)
    except (OSError, msgspec.MsgspecError, UnicodeDecodeError):  # not there, or damaged: it is only a cache
        return None
    return found if found.path == f"images/{manifest.stem}.npy" and is_intact(found, artifacts) else None


def _content(listing: Listing, entry: Entry) -> bytes:
    try:
        return untrusted.read_plain(listing.folder / entry.name, decoding.MAX_BYTES, inside=listing.folder)
    except untrusted.TooLargeError:
        raise UnusableError(f"{shown(entry.name)} is larger than {decoding.MAX_BYTES >> 20} MiB.") from None
    except OSError as error:
        raise UnusableError(f"{shown(entry.name)} cannot be read: {error.strerror or error}.") from None


def _made(listing: Listing, sums: dict[str, str]) -> bytes:
    """Decode all images into one NumPy file."""
    used = (*listing.trained, *listing.tested)
    table = np.zeros(len(used), RECORD)
    for record, entry in zip(table, used, strict=True):
        content = _content(listing, entry)
        if hashlib.sha256(content).hexdigest() != sums[entry.name]:
            raise UnusableError(f"{shown(entry.name)} changed while it was read.")
        try:
            pixels = decode(content, entry.suffix)
        except UnreadableError as error:
            raise UnusableError(f"{shown(entry.name)} cannot be read: {error}") from None
        record["pixels"], record["label"] = square(pixels, SHAPE[1]), entry.label
        record["tested"] = entry.tested
    file = io.BytesIO()
    np.save(file, table, allow_pickle=False)
    return file.getvalue()
