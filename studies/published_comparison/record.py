"""What the folklore trial measured and found, as it is committed."""

from typing import ClassVar

import msgspec

from studies.commands import Measurement
from studies.harness.record import Generation, Interval


class Form(msgspec.Struct, frozen=True):
    """One way to run a framework."""

    backend: str
    name: str
    """`as published`, `fairly`, or what was mended on the way from one to the other."""
    does: str
    """What is timed, in words."""
    mends: str = ""
    """What it does otherwise than the form before it; empty where that is none."""

    @property
    def arm(self) -> str:
        return f"{self.backend}, {self.name}"


class AnswerCheck(msgspec.Struct, frozen=True):
    """The answer of a form, compared with the float64 reference."""

    arm: str
    equal: bool | None
    """None: it has no weights of the reference, so there is nothing to compare."""
    relative_error: float | None
    reason: str


class TableEntry(msgspec.Struct, frozen=True):
    """A row of one of the two tables."""

    arm: str
    ns: Interval
    """Time of a call over all samples."""
    rank: int | None
    """At least rank - 1 frameworks are faster, all pairs judged at once; None: it is not ranked."""
    unranked: str = ""
    """Why not: too few launches, or an answer that is not shown to equal the reference."""


class Improvement(msgspec.Struct, frozen=True):
    """What one change brought."""

    mends: str
    factor: Interval
    """The time before over the time after."""


class Row(msgspec.Struct, frozen=True):
    """One framework in both tables."""

    backend: str
    title: str
    published_ms: float
    """As the published comparison states it, on its machine."""
    published: TableEntry
    fairly: TableEntry
    factor: Interval
    """As published over fairly."""
    mended: tuple[Improvement, ...]
    overtakes: tuple[str, ...] = ()
    """Frameworks that are ranked before it as published, and behind it fairly."""
    overtaken_by: tuple[str, ...] = ()
    reason: str = ""
    """Why its rank fairly is another one than as published, or there is one only fairly; empty where it is the same."""

    @property
    def flips(self) -> bool:
        return None not in (self.published.rank, self.fairly.rank) and self.published.rank != self.fairly.rank


class Folklore(Measurement, frozen=True, kw_only=True):
    """The whole record."""

    TRIAL: ClassVar = "folklore"

    batch: int
    threads: int
    cpus: tuple[int, ...]
    settings: dict[str, float]
    forms: tuple[Form, ...] = ()
    said: tuple[AnswerCheck, ...] = ()
    generations: tuple[Generation, ...] = ()
    rows: tuple[Row, ...] = ()
    failures: dict[str, str] = msgspec.field(default_factory=dict)
    """Backend to why it is in neither table."""
