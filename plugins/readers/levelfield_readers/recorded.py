"""What a reader makes of a file, before it becomes a record; and what all readers need."""

import math
from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from typing import Literal, TypeVar

import msgspec

from levelfield.record.schema import Absent, Fact, Fingerprint
from levelfield.terminals import refused, tool_text

LARGEST_NS = 10**18
"""Longest sample that is believed: thirty years."""
NOT_SAID = Absent("the file does not say")
_RATE_S = 1000
_FIRST = datetime(1970, 1, 1, tzinfo=UTC)
T = TypeVar("T")


class Timed(msgspec.Struct, frozen=True):
    """One sample: the time of some calls together."""

    total_ns: int
    calls: int = 1


class Result(msgspec.Struct, frozen=True):
    """One benchmark of the file."""

    name: str
    launches: tuple[tuple[Timed, ...], ...]
    """Samples of each process that the tool started, in the order of the file."""
    scenario: Literal["latency", "throughput"] = "latency"
    """`throughput`: the calls are items, and their rate counts."""
    failure: str = ""
    """Why the tool itself says that this is no result; empty: it says nothing of the kind."""


class Recorded(msgspec.Struct, frozen=True):
    """A whole file."""

    tool: str
    version: str | Absent
    results: tuple[Result, ...]
    started: str | Absent = NOT_SAID
    """As the file has it; UTC, ISO 8601 (`moment`)."""
    machine: Fingerprint = {}
    """What the file says about the machine and the software; names of hosts are not kept."""
    unknown: tuple[str, ...] = ()
    """What this kind of file does not say, beyond what none of them says."""
    left_out: tuple[str, ...] = ()
    """What the file has and is not taken, with the reason."""


class Reader(msgspec.Struct, frozen=True):
    """Reads the files of one tool: the value of an entry point of the group `levelfield.readers`."""

    files: str
    """Which files, for people: `hyperfine (--export-json)`."""
    marks: tuple[bytes, ...]
    """One of them is in every such file, and none in those of other tools."""
    parse: Callable[[bytes], Recorded]
    """Takes the content; raises LevelfieldError where it is no such file."""


def decode(content: bytes, type_: type[T], tool: str) -> T:
    """Decode JSON; raise LevelfieldError, naming the field, where it is none or of another form."""
    try:
        return msgspec.json.decode(content, type=type_)
    except (msgspec.MsgspecError, ValueError, RecursionError, OverflowError) as error:
        raise refused(tool, str(error)) from error


def fact(value: str | float | None) -> Fact:
    """Return a value of the file as a fact: a text on one line, bounded, or absent where there is none."""
    if isinstance(value, str):
        return tool_text(value) or NOT_SAID
    return NOT_SAID if value is None or abs(value) >= 2**53 else value


def moment(written: str | None) -> str | Absent:
    """Return an ISO 8601 time of the file in UTC; one without a zone is taken for UTC, and one before 1970 for none."""
    try:
        read = datetime.fromisoformat(written or "")
        aware = read if read.tzinfo else read.replace(tzinfo=UTC)
        return aware.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ") if aware >= _FIRST else NOT_SAID
    except (ValueError, OverflowError):
        return NOT_SAID


def seconds(value: float, calls: int = 1) -> Timed | None:
    """Return the sample of calls, timed together, that took so many seconds each.

    The time of all is kept, so that nothing is lost where a call takes a nanosecond. None where the value is no time:
    not finite, below a nanosecond in all, or beyond `LARGEST_NS`.
    """
    if not 0 < calls < LARGEST_NS or not 0 < value < LARGEST_NS or not math.isfinite(value):
        return None
    total_ns = value * calls * 1e9
    return Timed(round(total_ns), calls) if 1 <= total_ns <= LARGEST_NS else None


def samples(values: Iterable[float], calls: int = 1) -> tuple[Timed, ...]:
    """Return the samples of times in seconds, without those that are no times."""
    return tuple(sample for value in values if (sample := seconds(value, calls)) is not None)


def rate(per_second: float) -> Timed | None:
    """Return the sample of the items of `_RATE_S` seconds, so that whole items keep the digits of a rate.

    None where the value is no rate.
    """
    if not 0 < per_second < LARGEST_NS or not math.isfinite(per_second):
        return None
    return seconds(1 / per_second, min(max(round(per_second * _RATE_S), 1), LARGEST_NS - 1))
