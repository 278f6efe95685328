"""Decoding a tool's JSON by types, with one sentence where that fails; and what becomes of its texts and times."""

from datetime import UTC, datetime
from typing import TypeVar

import msgspec

from levelfield.imported.types import NO_DATE
from levelfield.record.schema import Absent, Fact
from levelfield.safety.tool_output import refused, text

T = TypeVar("T")


def decode(content: bytes, type_: type[T], tool: str) -> T:
    """Decode a file's JSON.

    Raises LevelfieldError: it is no JSON, or of another form; the message names the field.
    """
    try:
        return msgspec.json.decode(content, type=type_)
    except (msgspec.MsgspecError, ValueError, RecursionError, OverflowError) as error:
        raise refused(tool, str(error)) from error


def said(value: str | float | None) -> Fact:
    """Return a value of the file as a fact: a text on one line, bounded, or absent where there is none."""
    if isinstance(value, str):
        return text(value) or Absent("the file does not say")
    return Absent("the file does not say") if value is None or abs(value) >= 2**53 else value


def moment(written: str | None) -> str | Absent:
    """Return a time that a tool wrote as UTC, ISO 8601; a time without a zone is taken for UTC.

    `written`: ISO 8601; None: the file has none.
    """
    try:
        read = datetime.fromisoformat(written or "")
        aware = read if read.tzinfo else read.replace(tzinfo=UTC)
        return aware.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    except (ValueError, OverflowError):
        return NO_DATE
