"""Protocol Buffers' wire format, as far as one message after another needs it: no schema, and nothing is copied.

A message is a row of fields, each a key (its number and one of four kinds) and a value. A reader that knows no field's
meaning can walk over it and write it again: that is enough to read a profiler's trace, to see an ONNX file's inputs
without the `onnx` package, and to change a few bytes of it without touching gigabytes of weights. Files come from
strangers, so every length is checked.

See https://protobuf.dev/programming-guides/encoding/
"""

import contextlib
from collections.abc import Iterator
from contextvars import ContextVar

import msgspec

VARINT, FIXED64, BYTES, FIXED32 = 0, 1, 2, 5
_MOST_SHIFT = 63
_WORD = 1 << 64
LONGEST_BYTES = 10
"""Of a number."""
_left: ContextVar[list[int] | None] = ContextVar("left", default=None)


class MalformedError(ValueError):
    """It is not in this format."""


class Field(msgspec.Struct, frozen=True):
    """One field of a message."""

    number: int
    value: int | memoryview
    """A number, or the bytes of a text, of packed numbers or of a message."""
    raw: memoryview
    """All of it, the key included."""

    @property
    def integer(self) -> int:
        """The value as a signed number."""
        if isinstance(self.value, memoryview):
            raise MalformedError(f"Field {self.number} is not a number.")
        return self.value - _WORD if self.value >> _MOST_SHIFT else self.value

    @property
    def integers(self) -> list[int]:
        """The value as signed numbers: one, or several that are packed."""
        if isinstance(self.value, int):
            return [self.integer]
        found, place = [], 0
        while place < len(self.value):
            value, place = _varint(self.value, place)
            found.append(value - _WORD if value >> _MOST_SHIFT else value)
        return found

    @property
    def message(self) -> memoryview:
        """The value's bytes."""
        if isinstance(self.value, int):
            raise MalformedError(f"Field {self.number} is a number.")
        return self.value

    @property
    def text(self) -> str:
        """The value as text.

        `value`: its bytes.
        """
        try:
            return bytes(self.message).decode()
        except UnicodeDecodeError as error:
            raise MalformedError(f"Field {self.number} is not text.") from error


@contextlib.contextmanager
def bounded(most: int) -> Iterator[None]:
    """Let `fields` walk over so many fields in all, so that a file costs no more than they do."""
    token = _left.set([most])
    try:
        yield
    finally:
        _left.reset(token)


def fields(message: memoryview) -> Iterator[Field]:
    """Walk over a message.

    Raises MalformedError: it is none, or has more fields than are `bounded`.
    """
    place, end, left = 0, len(message), _left.get()
    while place < end:
        if left is not None:
            left[0] -= 1
            if left[0] < 0:
                raise MalformedError("It has more nodes and fields than are read.")
        start = place
        key, place = _varint(message, place)
        number, kind = key >> 3, key & 7
        value: int | memoryview
        if number == 0:
            raise MalformedError("A field has no number.")
        if kind == VARINT:
            value, place = _varint(message, place)
        else:
            if kind == BYTES:
                size, place = _varint(message, place)
            elif kind in {FIXED64, FIXED32}:
                size = 8 if kind == FIXED64 else 4
            else:
                raise MalformedError(f"Field {number} is of a kind that there is not.")
            if size > end - place:
                raise MalformedError("It ends in the middle of a field.")
            value = message[place : place + size]
            place += size
        yield Field(number, value, message[start:place])


def number(field: int, value: int) -> bytes:
    """Write a field that is a number."""
    return varint(field << 3 | VARINT) + varint(value)


def header(field: int, size: int) -> bytes:
    """Write what comes before the `size` bytes of a field."""
    return varint(field << 3 | BYTES) + varint(size)


def text(field: int, value: bytes) -> bytes:
    """Write a field that is bytes: a text, or a message.

    `value`: its bytes.
    """
    return header(field, len(value)) + value


def varint(value: int) -> bytes:
    """Write a number, seven bits a byte, the lowest first."""
    value %= _WORD
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def _varint(message: memoryview, place: int) -> tuple[int, int]:
    value = shift = 0
    while place < len(message) and shift <= _MOST_SHIFT:
        byte = message[place]
        place += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value % _WORD, place
        shift += 7
    raise MalformedError("It ends in the middle of a number, or a number is too long.")
