"""What the head asks a node, and what it answers: data in msgpack, and no code objects.

Either side reads the other's bytes as a stranger's: bounded, and decoded against these types.
"""

import struct
from typing import IO, Annotated, TypeAlias

import msgspec

from levelfield.errors import LevelfieldError
from levelfield.images.base import Source
from levelfield.plan import Selection

MOST_BYTES = 96 * 1024 * 1024
"""Longest message: a record of an hour has some ten megabytes, and its page a tenth of that."""
CHUNK_BYTES = 32 * 1024 * 1024
"""A bundle travels in pieces of this size, so that no process holds all of it."""
_LENGTH = struct.Struct(">Q")

Name: TypeAlias = Annotated[str, msgspec.Meta(pattern=r"\A[A-Za-z0-9][A-Za-z0-9._-]{0,63}\Z")]
"""Of a folder, and of nothing else."""


class Survey(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag="survey"):
    """Asks what a node would measure, and what it has for that."""

    selection: Selection
    launcher: str
    base: Source


class Surveyed(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag="surveyed"):
    tool_version: str
    tool_sha256: str
    locks: dict[str, str]
    """Each image that is needed, as `record.references` spells it, and the SHA-256 of its lock; none for the
    launcher `host`."""
    lacks_files: bool
    """Wheels or packages would have to be fetched."""


class Measure(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag="measure"):
    """Asks a node to measure, or to go on with what was cut off there."""

    fleet: Name
    """Drawn once for a fleet: the folder on the node."""
    node: Name
    words: tuple[str, ...]
    """Of `levelfield bench`, without the folder of reports and the seed."""
    seed: int
    limit_s: float
    bundle_sha256: str = ""
    """Of the bundle that follows; empty: none does."""
    number: Annotated[int, msgspec.Meta(ge=0)] = 0
    """Of the node's run: each has a folder of its own there."""


class Measured(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag="measured"):
    run: Name
    files: dict[str, bytes]
    """By the name in the run's folder."""


class Failed(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag="failed"):
    """Nothing could be measured, or not all of it."""

    reason: str
    """A sentence or two."""


Request: TypeAlias = Survey | Measure
Reply: TypeAlias = Surveyed | Measured | Failed
_requests: msgspec.msgpack.Decoder[Request] = msgspec.msgpack.Decoder(Request)
_replies: msgspec.msgpack.Decoder[Reply] = msgspec.msgpack.Decoder(Reply)
_WRONG = (msgspec.MsgspecError, UnicodeDecodeError, RecursionError)


def encode(message: Request | Reply) -> bytes:
    return msgspec.msgpack.encode(message)


def request_of(content: bytes) -> Request:
    """Read a request. Raises LevelfieldError: it is none."""
    try:
        return _requests.decode(content)
    except _WRONG as error:
        raise LevelfieldError(f"The head asked what no head asks: {_short(error)}.") from error


def reply_of(content: bytes) -> Reply:
    """Read a node's reply. Raises LevelfieldError: it is none, or too long."""
    if len(content) > MOST_BYTES:
        raise LevelfieldError(f"The node sent {len(content):,} bytes, and a reply has {MOST_BYTES:,} at the most.")
    try:
        return _replies.decode(content)
    except _WRONG as error:
        raise LevelfieldError(f"The node sent what is no reply: {_short(error)}.") from error


def _short(error: Exception) -> str:
    return " ".join(str(error).split())[:200].rstrip(".")


def write(stream: IO[bytes], content: bytes) -> None:
    """Write one message to a pipe, with its length before it; an empty one ends a series."""
    stream.write(_LENGTH.pack(len(content)))
    stream.write(content)
    stream.flush()


def read(stream: IO[bytes], most_bytes: int = MOST_BYTES) -> bytes:
    """Read one message from a pipe. Raises EOFError: the other end was closed; LevelfieldError: it is too long."""
    (length,) = _LENGTH.unpack(_exactly(stream, _LENGTH.size))
    if length > most_bytes:
        raise LevelfieldError(f"A message has {length:,} bytes, and {most_bytes:,} at the most are read.")
    return _exactly(stream, length)


def _exactly(stream: IO[bytes], count: int) -> bytes:
    parts: list[bytes] = []
    while count:
        part = stream.read(min(count, 1 << 20))
        if not part:
            raise EOFError
        parts.append(part)
        count -= len(part)
    return b"".join(parts)
