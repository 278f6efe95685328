"""`layers.json`: what every layer of one model put out on one machine, as digests.

It is written by `levelfield layers`, and read as a stranger's: bounded, and decoded against these types.
"""

from pathlib import Path
from typing import Annotated, Literal, TypeAlias

import msgspec

from suite.errors import LevelfieldError
from suite.record.schema import Image
from suite.safety import untrusted

SCHEMA: Literal["levelfield-layers-1"] = "levelfield-layers-1"
MOST_BYTES = 16 * 1024 * 1024
"""Largest file that is read: 4,096 layers in each of some launches."""
MOST_LAYERS = 4096
MOST_LAUNCHES = 16

Digest: TypeAlias = Annotated[str, msgspec.Meta(pattern=r"\A[0-9a-f]{64}\Z")]
_Text: TypeAlias = Annotated[str, msgspec.Meta(max_length=1000)]


class Layer(msgspec.Struct, frozen=True):
    """One layer."""

    name: Annotated[str, msgspec.Meta(min_length=1, max_length=500)]
    sha256: Digest
    """Of what it put out."""


class Launch(msgspec.Struct, frozen=True):
    """One fresh worker."""

    output_sha256: Digest
    """Of the whole model's output, computed as in a run and comparable with it."""
    layered_sha256: Digest
    """Of the model's output when its layers were seen."""
    layers: Annotated[tuple[Layer, ...], msgspec.Meta(max_length=MOST_LAYERS)]
    """In the order of computation."""


class Layers(msgspec.Struct, frozen=True, kw_only=True):
    """The whole file."""

    schema: Literal["levelfield-layers-1"]
    tool_version: _Text
    tool_sha256: _Text
    written: _Text
    """UTC, ISO 8601."""
    arm: _Text
    """Id: `onnxruntime`."""
    version: _Text
    """Of the framework."""
    model: _Text
    precision: _Text
    batch: Annotated[int, msgspec.Meta(ge=1, le=1_000_000)]
    threads: Annotated[int, msgspec.Meta(ge=1, le=1_000_000)]
    device: _Text
    items: Annotated[int, msgspec.Meta(ge=1, le=10_000_000)]
    """Inputs that were computed, from the first one on: those that a run compares with the reference."""
    image: Image
    data: Annotated[tuple[_Text, ...], msgspec.Meta(max_length=8)]
    """Digests of the weights and inputs, sorted."""
    hardware: Annotated[dict[_Text, _Text], msgspec.Meta(max_length=500)]
    how: _Text
    """What was run to see the layers."""
    launches: Annotated[tuple[Launch, ...], msgspec.Meta(min_length=1, max_length=MOST_LAUNCHES)]

    @property
    def question(self) -> str:
        """`resnet50/fp32/b1/t2/cpu`."""
        return f"{self.model}/{self.precision}/b{self.batch}/t{self.threads}/{self.device}"


def write(found: Layers, file: Path) -> None:
    """Write the file.

    Parameters
    ----------
    found
        Its content.
    file
        Where to write it.

    Raises
    ------
    LevelfieldError
        It cannot be written.
    """
    try:
        file.write_bytes(msgspec.json.format(msgspec.json.encode(found), indent=1) + b"\n")
    except OSError as error:
        raise LevelfieldError(
            f"{file} cannot be written: {error.strerror or error}.", fix="Name another file with --output."
        ) from error


def read(file: Path, name: str, *, follow_links: bool = True) -> Layers:
    """Read a file that is not trusted.

    Parameters
    ----------
    file
        The file.
    name
        How messages call it.
    follow_links
        Whether it may be a link.

    Raises
    ------
    LevelfieldError
        With one sentence: it cannot be read, is too large, or is no such file.
    """
    try:
        content = untrusted.read_plain(file, MOST_BYTES, follow_links=follow_links)
    except untrusted.TooLargeError as error:
        raise LevelfieldError(f"{name} is longer than {MOST_BYTES:,} bytes, the most that such a file has.") from error
    except OSError as error:
        raise LevelfieldError(f"{name} cannot be read: {error.strerror or error}.") from error
    return decode(content, name)


def decode(content: bytes, name: str) -> Layers:
    """Decode a file's content.

    Parameters
    ----------
    content, name
        The JSON, and how messages call it.

    Raises
    ------
    LevelfieldError
        It is no such file.
    """
    try:
        return msgspec.json.decode(content, type=Layers)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        what = " ".join(str(error).split())[:200].rstrip(".")
        raise LevelfieldError(
            f"{name} holds no layers as `levelfield layers` writes them: {what}.", fix="Write it again on that machine."
        ) from error
