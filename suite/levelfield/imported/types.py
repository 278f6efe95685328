"""What is read from a file of another tool, before it becomes a record."""

import math
from collections.abc import Iterable
from typing import Literal

import msgspec

from levelfield.record.schema import Absent, Fingerprint

LARGEST_NS = 10**18
"""Longest sample that is believed: thirty years."""
NO_DATE = Absent("the file does not say")


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
    started: str | Absent = NO_DATE
    """As the file has it."""
    machine: Fingerprint = {}
    """What the file says about the machine and the software; names of hosts are not kept."""
    unknown: tuple[str, ...] = ()
    """What this kind of file does not say, beyond what none of them says."""
    left_out: tuple[str, ...] = ()
    """What the file has and is not taken, with the reason."""


def seconds(value: float, calls: int = 1) -> Timed | None:
    """Return the sample of calls that took so many seconds each on average.

    `calls`: calls that were timed together. Their time is kept, so that nothing is lost where a call takes a
    nanosecond. Returns none where the value is no time: not finite, below a nanosecond in all, or beyond `LARGEST_NS`.
    """
    if not 0 < calls < LARGEST_NS or not 0 < value < LARGEST_NS or not math.isfinite(value):
        return None
    total_ns = value * calls * 1e9
    return Timed(round(total_ns), calls) if 1 <= total_ns <= LARGEST_NS else None


def rate(per_second: float) -> Timed | None:
    """Return the sample of so many items a second: those of `_RATE_S` seconds, so that whole items keep its digits.

    `per_second`: items a second, as the tool has computed them. Returns none where the value is no rate.
    """
    if not 0 < per_second < LARGEST_NS or not math.isfinite(per_second):
        return None
    return seconds(1 / per_second, min(max(round(per_second * _RATE_S), 1), LARGEST_NS - 1))


_RATE_S = 1000


def samples(values: Iterable[float], calls: int = 1) -> tuple[Timed, ...]:
    """Return the samples of times in seconds, without those that are no times."""
    return tuple(sample for value in values if (sample := seconds(value, calls)) is not None)
