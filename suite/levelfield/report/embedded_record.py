"""The record inside a page: thinned, packed, and named by digests; and the way back, which trusts nothing.

A page carries one inert block of JSON. Its `data` is the thinned record as compressed JSON; beside it are the digests
of the packed bytes, of the JSON in them, and of the whole record's file.
"""

import base64
import binascii
import dataclasses
import hashlib
import math
import zlib
from collections.abc import Iterator
from functools import partial

import msgspec

from levelfield.analysis import Analysis
from levelfield.analysis.types import TimedBlock
from levelfield.errors import LevelfieldError
from levelfield.record import bounds, files
from levelfield.record.schema import INT_LIMIT, Run, Window
from levelfield.report import thinning
from levelfield.report.thinning import (
    Embedded,
    Tail,
    Thinned,
    WindowFacts,
    WindowKey,
    embed,
    keyed_windows,
    replace_windows,
)

FORMAT = "levelfield-record-1"
MAX_BYTES = 64 * 1024 * 1024
"""Most that the record inside a page may unpack to; those of standard runs take less than 2 MB."""
BROKEN = 1
"""Exit code where what is inside is not what its digests say."""
_REDO = "Ask for the run's folder, or write the page anew from its record: levelfield report RUN."


class PageRecord(msgspec.Struct, frozen=True):
    """The record that travels inside a page."""

    embedded: Embedded
    sha256: str
    """Of the JSON that travels."""
    content: bytes


class Evidence(msgspec.Struct, frozen=True):
    """What a page carries so that it can be checked."""

    inside: PageRecord
    statement: str = ""
    """The in-toto statement, as it lies beside the record; empty: there is none."""
    signature: str = ""
    """Its SSH signature, armoured; empty: it is not signed."""


class _Envelope(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    format: str
    packed_sha256: str
    sha256: str
    size_bytes: int
    record_sha256: str
    data: str


class _Outer(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    record_sha256: str
    cap: int
    record: msgspec.Raw
    thinned: tuple[Thinned, ...] = ()
    projections_once: bool = False


class _Attested(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    sha256: str
    """Of the two that follow, one after the other."""
    statement: str
    signature: str = ""


def carry(run: Run, analysis: Analysis, record_sha256: str | None = None) -> PageRecord:
    """Make the part of a record that its page carries.

    `record_sha256`: of the record's file; None: as `record.files.write` writes it today.
    """
    digest = record_sha256 or hashlib.sha256(msgspec.json.encode(run) + b"\n").hexdigest()
    embedded, content = embed(run, digest, tails=tails(analysis))
    return PageRecord(embedded=embedded, sha256=hashlib.sha256(content).hexdigest(), content=content)


def tails(analysis: Analysis) -> dict[str, Tail]:
    """Return the upper quantiles of every timed result, by result id."""
    return {
        f"{row.arm}/{block.case.id}": Tail(row.p90_ns, row.p99_ns) for block in analysis.timed for row in block.rows
    }


def pack(inside: PageRecord) -> bytes:
    """Return the block for the page: JSON of digests and the compressed record."""
    packed = zlib.compress(inside.content, 9)
    return msgspec.json.encode(
        _Envelope(
            format=FORMAT,
            packed_sha256=hashlib.sha256(packed).hexdigest(),
            sha256=inside.sha256,
            size_bytes=len(inside.content),
            record_sha256=inside.embedded.record_sha256,
            data=base64.b64encode(packed).decode(),
        )
    )


def unpack(block: bytes) -> PageRecord:
    """Return the record of a page's block: bounded, checked against its digests and against the schema.

    Raises LevelfieldError: with one sentence. Exit code 1: the block is not what its digests say; 2: it is no record,
    or too large.
    """
    try:
        envelope = msgspec.json.decode(block, type=_Envelope)
    except (msgspec.MsgspecError, ValueError, RecursionError) as error:
        raise LevelfieldError("The block inside the page that should hold the record is none.", fix=_REDO) from error
    if envelope.format != FORMAT:
        raise LevelfieldError(
            f"The record inside the page has the format {envelope.format[:40]!r}; this Levelfield reads {FORMAT}.",
            fix="Install a newer Levelfield, or ask for the run's folder.",
        )
    content = _decompress(envelope)
    if hashlib.sha256(content).hexdigest() != envelope.sha256 or len(content) != envelope.size_bytes:
        raise _damaged("its text")
    inside = PageRecord(embedded=_decode(content), sha256=envelope.sha256, content=content)
    if inside.embedded.record_sha256 != envelope.record_sha256:
        raise _damaged("the whole record that it names")
    return inside


def _decompress(envelope: _Envelope) -> bytes:
    if not 0 < envelope.size_bytes <= MAX_BYTES:
        raise _too_large()
    try:
        packed = base64.b64decode(envelope.data, validate=True)
    except (binascii.Error, ValueError) as error:
        raise _damaged("its base64") from error
    if (
        hashlib.sha256(packed).hexdigest() != envelope.packed_sha256
        or base64.b64encode(packed).decode() != envelope.data
    ):
        raise _damaged("its packed bytes")
    unpacker = zlib.decompressobj()
    try:
        content = unpacker.decompress(packed, envelope.size_bytes + 1)
    except zlib.error as error:
        raise _damaged("its compression") from error
    if len(content) > envelope.size_bytes:
        raise _too_large()
    if not unpacker.eof or unpacker.unused_data:
        raise _damaged("its length")
    return content


def _too_large() -> LevelfieldError:
    return LevelfieldError(
        f"The record inside the page is larger than it says, or than {MAX_BYTES} bytes, the most that is unpacked.",
        fix="No page of Levelfield holds such a record.",
    )


def _damaged(what: str) -> LevelfieldError:
    return _broken(f"The record inside the page was changed or damaged: {what} and its digest do not agree.")


def _broken(message: str) -> LevelfieldError:
    return LevelfieldError(message, fix=_REDO, exit_code=BROKEN)


def _decode(content: bytes) -> Embedded:
    name = "The record inside the page"
    try:
        outer = msgspec.json.decode(content, type=_Outer)
    except (msgspec.MsgspecError, ValueError, RecursionError, OverflowError) as error:
        raise LevelfieldError(f"{name} is not of the form in which records travel.", fix=files.DAMAGED) from error
    run = files.decode(bytes(outer.record), name)
    files.check(run, name)
    bounds.check(run, name)
    for thinned in outer.thinned:
        _check(thinned)
    calls = sum(facts.calls + facts.rewarm_calls for thinned in outer.thinned for facts in thinned.windows)
    if calls > bounds.MAX_CALLS:
        raise LevelfieldError(
            f"{name} stands for more than {bounds.MAX_CALLS:,} calls, too many to compute with.",
            fix="Ask for the run's folder, and verify that.",
        )
    return Embedded(
        record_sha256=outer.record_sha256,
        cap=outer.cap,
        record=run,
        thinned=outer.thinned,
        projections_once=outer.projections_once,
    )


def _check(thinned: Thinned) -> None:
    numbers = [facts.median_ns for facts in thinned.windows]
    numbers += [number for number in (thinned.tail.p90_ns, thinned.tail.p99_ns) if number is not None]
    if not all(math.isfinite(number) and 0 <= number < INT_LIMIT for number in numbers) or not all(
        0 < facts.calls <= bounds.MAX_CALLS and 0 <= facts.rewarm_calls <= bounds.MAX_CALLS for facts in thinned.windows
    ):
        raise LevelfieldError(
            "The record inside the page states times or calls of a window that no run has.", fix=files.DAMAGED
        )


def attest(evidence: Evidence) -> bytes:
    """Return the page's block with the statement and its signature, or nothing where there is no statement."""
    if not evidence.statement:
        return b""
    digest = _both(evidence.statement, evidence.signature)
    return msgspec.json.encode(_Attested(digest, evidence.statement, evidence.signature))


def _both(statement: str, signature: str) -> str:
    return hashlib.sha256(f"{statement}{signature}".encode(errors="replace")).hexdigest()


def attested(block: bytes) -> tuple[str, str]:
    """Return statement and signature of a page's block.

    Raises LevelfieldError: it holds something else, or was changed.
    """
    try:
        found = msgspec.json.decode(block, type=_Attested)
    except (msgspec.MsgspecError, ValueError, RecursionError) as error:
        raise _broken("The block inside the page that should hold its statement holds something else.") from error
    if _both(found.statement, found.signature) != found.sha256:
        raise _broken("The statement inside the page was changed or damaged: it and its digest do not agree.")
    return found.statement, found.signature


def restored(embedded: Embedded) -> Run:
    """Return the record in which every thinned window has all its calls again, and every launch its projection.

    Such a window has as many calls as it had, before it and in it, and their median: all that an analysis takes from it
    but the upper quantiles of a result, which `with_tails` restores.
    """
    if not embedded.thinned:
        return embedded.record
    known = {
        (thinned.result, (facts.arm, facts.generation, facts.round, facts.attempt)): facts
        for thinned in embedded.thinned
        for facts in thinned.windows
    }

    def restore(case: str, key: WindowKey, window: Window) -> Window:
        facts = known.get((f"{key[0]}/{case}", key))
        return window if facts is None else restore_window(window, facts)

    held = embedded.record.blocks
    blocks = thinning.with_repeats(held) if embedded.projections_once else held
    restored_blocks = (replace_windows(block, partial(restore, block.case.id)) for block in blocks)
    return msgspec.structs.replace(embedded.record, blocks=tuple(restored_blocks))


def restore_window(window: Window, facts: WindowFacts) -> Window:
    """Return a window with as many calls as it had before it was thinned, and with the same median."""
    below, above = math.floor(facts.median_ns), math.ceil(facts.median_ns)
    half = facts.calls // 2
    return msgspec.structs.replace(
        window,
        samples_ns=(below,) * half + (above,) * (facts.calls - half),
        rewarm_ns=window.rewarm_ns[:1] * facts.rewarm_calls,
    )


def with_tails(analysis: Analysis, embedded: Embedded) -> Analysis:
    """Return an analysis of a restored record with the upper quantiles that travel beside it."""
    stated = {thinned.result: thinned.tail for thinned in embedded.thinned}
    blocks = tuple(
        msgspec.structs.replace(
            block,
            rows=tuple(
                msgspec.structs.replace(row, p90_ns=tail.p90_ns, p99_ns=tail.p99_ns)
                if (tail := stated.get(f"{row.arm}/{block.case.id}")) is not None
                else row
                for row in block.rows
            ),
        )
        if isinstance(block, TimedBlock)
        else block
        for block in analysis.blocks
    )
    return dataclasses.replace(analysis, blocks=blocks)


def unsupported(embedded: Embedded) -> Iterator[str]:
    """Yield the thinned results whose kept samples contradict the stated facts of their windows.

    A window's median lies between the least and the greatest of its calls. With twenty samples or more, evenly taken,
    it lies between those of them; a periodic signal may break this in a window, but hardly in a tenth of them.
    """
    kept: dict[WindowKey, Window] = {
        (f"{arm}/{block.case.id}", generation, number, attempt): window
        for block in embedded.record.blocks
        for (arm, generation, number, attempt), window in keyed_windows(block)
    }
    for thinned in embedded.thinned:
        compared = outside = 0
        for facts in thinned.windows:
            window = kept.get((thinned.result, facts.generation, facts.round, facts.attempt))
            samples = window.samples_ns if window is not None else ()
            if len(samples) > facts.calls or (window is None):
                outside = compared = 1
                break
            if len(samples) >= 20 and facts.median_ns > 0:
                compared += 1
                outside += not min(samples) <= facts.median_ns <= max(samples)
        sizes = (
            sum(len(window.samples_ns) for key, window in kept.items() if key[0] == thinned.result),
            sum(facts.calls for facts in thinned.windows),
        )
        if outside * 10 > compared or sizes != (thinned.kept, thinned.of):
            yield thinned.result
