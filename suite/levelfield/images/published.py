"""The file that `levelfield push` writes: where each image is in a registry, by digest, and what it has to be.

It is read as a stranger's: bounded, and decoded against these types.
"""

from pathlib import Path
from typing import Annotated, Literal, TypeAlias

import msgspec

from levelfield.errors import LevelfieldError, clause
from levelfield.images.catalogue import split_stem
from levelfield.record.references import Reference
from levelfield.safety import untrusted

NAME = "images.json"
FORMAT: Literal["levelfield-images-1"] = "levelfield-images-1"
MOST_BYTES = 1024 * 1024
_HOST = r"(?:[A-Za-z0-9](?:[A-Za-z0-9.-]{0,250}[A-Za-z0-9])?|\[[0-9a-fA-F:]{2,39}\])(?::[0-9]{1,5})?"
_FOLDER = r"[a-z0-9]+(?:[._-]{1,2}[a-z0-9]+){0,50}"
REPOSITORY = rf"{_HOST}(?:/{_FOLDER}){{0,20}}"
"""An address in a registry, as container engines write it (`localhost:5000/levelfield`)."""
_DIGEST = r"sha256:[0-9a-f]{64}"

_Digest: TypeAlias = Annotated[str, msgspec.Meta(pattern=rf"\A{_DIGEST}\Z")]
_Name: TypeAlias = Annotated[str, msgspec.Meta(pattern=r"\A[A-Za-z0-9][A-Za-z0-9._~@-]{0,250}\Z")]


class Published(msgspec.Struct, frozen=True):
    """One image in a registry."""

    image: _Name
    variant: _Name
    """Name of its lock, as in a run's record: `cpu`, `cpu@1.30.0`."""
    identity: Annotated[str, msgspec.Meta(pattern=r"\A[0-9a-f]{64}\Z")]
    """SHA-256 of all that it is made from: base, lock, recipe and worker code."""
    reference: Annotated[str, msgspec.Meta(pattern=rf"\A{REPOSITORY}@{_DIGEST}\Z", max_length=1000)]
    """Where it is, by the digest of its manifest."""
    layers: Annotated[tuple[_Digest, ...], msgspec.Meta(min_length=1, max_length=128)]
    """Digests of its unpacked layers, as in a run's record."""

    @property
    def name(self) -> Reference:
        """The image as it is typed: `onnxruntime@1.30.0`."""
        variant, version = split_stem(self.variant)
        return Reference(self.image, version, variant)


class ImagesFile(msgspec.Struct, frozen=True, kw_only=True):
    """The whole file."""

    format: Literal["levelfield-images-1"]
    images: Annotated[tuple[Published, ...], msgspec.Meta(min_length=1, max_length=512)]


def write(images: tuple[Published, ...], file: Path) -> None:
    """Write the file.

    Raises LevelfieldError: it cannot be written.
    """
    content = msgspec.json.format(msgspec.json.encode(ImagesFile(format=FORMAT, images=images)), indent=1) + b"\n"
    try:
        file.write_bytes(content)
    except OSError as error:
        raise LevelfieldError(
            f"{file} cannot be written: {error.strerror or error}.", fix="Name another file with --output."
        ) from error


def read(file: Path) -> ImagesFile:
    """Read a file that is not trusted.

    Raises LevelfieldError: with one sentence: it cannot be read, is too large, or is no such file.
    """
    try:
        content = untrusted.read_plain(file, MOST_BYTES)
    except OSError as error:
        raise LevelfieldError(
            f"{file} cannot be read: {error.strerror or error}.", fix=f"Name the {NAME} that `levelfield push` wrote."
        ) from error
    return decode(content, str(file))


def decode(content: bytes, name: str) -> ImagesFile:
    """Decode a file's content.

    Raises LevelfieldError: it is no such file.
    """
    try:
        return msgspec.json.decode(content, type=ImagesFile)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise LevelfieldError(
            f"{name} names no images as `levelfield push` writes them: {clause(error)}.",
            fix=f"Ask for its {NAME} again, or build the images here.",
        ) from error
