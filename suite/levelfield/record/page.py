"""The record inside its page: one inert block of JSON that holds all of it, compressed, and one with its statement.

A page *is* the record of its run. `data` is the record's JSON as gzip in base64, and `sha256` and `size_bytes` are
those of that JSON, so that another build of zlib may pack it into other bytes. What is read here is not trusted.
"""

import base64
import binascii
import gzip
import hashlib
import zlib

import msgspec

from levelfield.errors import LevelfieldError
from levelfield.paths import tool_sha256
from levelfield.record.measured import Sha256

NAME = "report.html"
MAX_BYTES = 512 * 1024 * 1024
"""Largest record, as JSON, and largest file that is read. A full run on a fast machine has some tens of megabytes."""
FORMAT = "levelfield-record-2"
_RECORD = '<script type="application/json" id="record">'
_STATEMENT = '<script type="application/json" id="statement">'
_END = "</script>"
_DERIVED = '<meta name="generator" content="levelfield '
_HEADER = "H4sIAAAAAAA"
"""Of gzip, in base64: no name, comment or time stands in it."""
_LEVEL = 6
"""Of gzip: at 9 it takes twice as long and saves half a percent."""
_REDO = "Ask for it once more, or for the run's folder."
BEGINNING = 200
"""Bytes by which a page is told from JSON."""
DAMAGED = 1
"""Exit code where what is inside is not what its digests say."""


class Evidence(msgspec.Struct, frozen=True):
    """What a page carries so that it can be read and checked."""

    block: str
    """The record's block."""
    sha256: Sha256
    """Of the record's JSON."""
    statement: str = ""
    """The in-toto statement; empty: there is none."""
    signature: str = ""
    """Its SSH signature, armoured; empty: it is not signed."""


class _Block(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    format: str
    tool_sha256: Sha256
    """Digest of the sources that wrote the page."""
    sha256: Sha256
    size_bytes: int
    data: str


class _Format(msgspec.Struct, frozen=True, forbid_unknown_fields=False):
    format: str


class _Attested(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    statement: str
    signature: str = ""


def pack(content: bytes) -> Evidence:
    """Return a record's JSON as the block of its page."""
    sha256 = hashlib.sha256(content).hexdigest()
    data = base64.b64encode(gzip.compress(content, _LEVEL, mtime=0)).decode()
    block = msgspec.json.encode(_Block(FORMAT, tool_sha256(), sha256, len(content), data))
    return Evidence(block.decode(), sha256)


def record_in(content: bytes, most_bytes: int = MAX_BYTES) -> bytes:
    """Return the JSON of a record from the content of its file: of a page, what it unpacks to.

    Raises LevelfieldError: as `split` and `unpack` do.
    """
    return unpack(split(content)[0], most_bytes) if is_page(content) else content


def unpack(block: str, most_bytes: int = MAX_BYTES) -> bytes:
    """Return the JSON of the record in a page's block, bounded and checked against its digest.

    Raises LevelfieldError: exit code 1: the block is not what its digest says; 2: it is none, or too large.
    """
    envelope = _decode(block)
    if not envelope.data.startswith(_HEADER):
        raise _damaged()
    if not 0 < envelope.size_bytes <= most_bytes:
        raise LevelfieldError(
            f"The record inside the page is larger than {most_bytes} bytes, the most that is unpacked.",
            fix="No page of Levelfield holds such a record.",
        )
    try:
        unpacker = zlib.decompressobj(wbits=16 + zlib.MAX_WBITS)
        content = unpacker.decompress(base64.b64decode(envelope.data, validate=True), envelope.size_bytes + 1)
    except (binascii.Error, ValueError, zlib.error) as error:
        raise _damaged() from error
    if (
        len(content) > envelope.size_bytes
        or not unpacker.eof
        or unpacker.unused_data
        or hashlib.sha256(content).hexdigest() != envelope.sha256
    ):
        raise _damaged()
    return content


def sha256_in(content: bytes) -> str:
    """Return the digest that a page states of its record. Raises LevelfieldError: it carries none."""
    return _decode(split(content)[0]).sha256


def written_by(block: str) -> str:
    """Return the digest of the sources that wrote a page, by its block."""
    return _decode(block).tool_sha256


def _decode(block: str) -> _Block:
    try:
        known = msgspec.json.decode(block, type=_Format).format
        if known == FORMAT:
            found = msgspec.json.decode(block, type=_Block)
            if msgspec.json.encode(found).decode() != block:  # JSON that a browser might read in another way
                raise _damaged()
            return found
    except (msgspec.MsgspecError, ValueError, RecursionError) as error:
        raise LevelfieldError("The block inside the page that should hold the record is none.", fix=_REDO) from error
    raise LevelfieldError(
        f"The record inside the page has the format {known[:40]!r}; this Levelfield reads {FORMAT}.",
        fix="Use the Levelfield that wrote it, or ask for the run's record (`levelfield export RUN --record FILE`).",
    )


def split(page: bytes) -> tuple[str, tuple[str, str]]:
    """Return the record's block of a page, and its statement and signature (empty: there is none).

    Raises LevelfieldError: the page carries no record, or more than one, or is damaged.
    """
    try:
        text = page.decode()
    except UnicodeDecodeError as error:
        raise LevelfieldError("The page is not text.", fix=_REDO, exit_code=DAMAGED) from error
    record, stated = _content(text, _RECORD), _content(text, _STATEMENT)
    if record is None and _DERIVED in text and "Levelfield report</title>" not in text:
        raise LevelfieldError(
            "The page carries no record: it is made from those of runs.",
            fix="On a site they are in runs/…; verify those.",
        )
    if record is None:
        raise LevelfieldError(
            "The page carries no record: it is no report of Levelfield, or one without its record.", fix=_REDO
        )
    if stated is None:
        return record, ("", "")
    try:
        attested = msgspec.json.decode(stated, type=_Attested)
    except (msgspec.MsgspecError, ValueError, RecursionError) as error:
        raise LevelfieldError(
            "The block inside the page that should hold its statement holds something else.",
            fix=_REDO,
            exit_code=DAMAGED,
        ) from error
    return record, (attested.statement, attested.signature)


def _content(text: str, start: str) -> str | None:
    if text.count(start) > 1:
        raise LevelfieldError("The page carries two records or two statements.", fix=_REDO)
    _, here, rest = text.partition(start)
    block, ended, _ = rest.partition(_END)
    if not here:
        return None
    if not ended:
        raise LevelfieldError("The page breaks off inside its record.", fix=_REDO, exit_code=DAMAGED)
    if not frozenset("<>&").isdisjoint(block):  # a browser may end the block earlier, as at </SCRIPT>
        raise LevelfieldError(
            "The page's record or statement holds markup, which no page of Levelfield does.",
            fix=_REDO,
            exit_code=DAMAGED,
        )
    return block


def attest(evidence: Evidence) -> bytes:
    """Return the content of the block with the statement and its signature, or nothing where there is no statement."""
    if not evidence.statement:
        return b""
    return msgspec.json.encode(_Attested(evidence.statement, evidence.signature))


def is_page(content: bytes) -> bool:
    """Return whether a file's content begins as a page, and not as JSON."""
    return content[:BEGINNING].lstrip().lower().startswith((b"<!doctype html", b"<html"))


def _damaged() -> LevelfieldError:
    return LevelfieldError(
        "The record inside the page was changed or damaged: it and its digest do not agree.",
        fix=_REDO,
        exit_code=DAMAGED,
    )
