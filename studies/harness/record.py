"""What the overhead trial measured and found, as it is committed."""

from collections.abc import Callable
from typing import ClassVar, Literal

import msgspec

from levelfield.record.schema import Case
from studies.commands import Measurement

Verdict = Literal["within", "not shown", "outside", "no limit"]


class Window(msgspec.Struct, frozen=True):
    """One arm's turn."""

    arm: str
    median_ns: float
    calls: int
    supervisor_share: float | None = None
    """CPU time of a tool's own supervisor while its worker lives, as a share of one core; None: it has no supervisor,
    or it was not asked for."""


class Round(msgspec.Struct, frozen=True):
    """One turn of every arm, in the order they were taken."""

    windows: tuple[Window, ...]
    disturbed: str = ""
    """By which outside signal; empty: it was not, or that could not be known (the trial leaves no round out)."""


class Generation(msgspec.Struct, frozen=True):
    """Every arm launched anew, and measured against the others."""

    rounds: tuple[Round, ...]


class Limit(msgspec.Struct, frozen=True):
    """How far two arms may be apart."""

    share: float | None = None
    """Of the second arm's time."""
    ns: float | None = None

    def __str__(self) -> str:
        if self.share is not None:
            return f"{self.share:.0%}"
        return "none" if self.ns is None else f"{self.ns / 1000:g} µs"


class Contrast(msgspec.Struct, frozen=True):
    """Two arms to be compared."""

    first: str
    second: str
    limit: Limit
    says: str
    """What is compared, in words."""
    one_process: bool = False
    """Both are loops of one process, which take many short turns: what is particular to a launch is in both."""


class Interval(msgspec.Struct, frozen=True):
    """An estimate with its 95 % interval; no interval where launches are too few."""

    value: float
    low: float | None
    high: float | None

    def map(self, convert: Callable[[float], float]) -> "Interval":
        """Return the value and both bounds, converted."""
        low, high = (None if bound is None else convert(bound) for bound in (self.low, self.high))
        return Interval(convert(self.value), low, high)


class Finding(msgspec.Struct, frozen=True):
    """The result of a contrast."""

    contrast: Contrast
    launches: int
    first_ns: float
    second_ns: float
    ratio: Interval
    """The first arm's time over the second's: the median over launches."""
    mean_ratio: Interval
    """The same as a geometric mean with its t interval; shown, and not judged by."""
    difference_ns: Interval
    """The median over launches."""
    verdict: Verdict


class Cell(msgspec.Struct, frozen=True):
    """One model on one backend."""

    backend: str
    case: Case
    arms: tuple[str, ...]
    generations: tuple[Generation, ...]
    findings: tuple[Finding, ...]
    notes: dict[str, str] = {}
    """Commands and settings of the other side."""
    failure: str = ""
    seconds: float = 0.0
    """That it took, launches and all; 0: not kept."""


class Trial(Measurement, frozen=True, kw_only=True):
    """The whole record."""

    TRIAL: ClassVar = "harness"
    SCHEMA: ClassVar = 2

    settings: dict[str, float]
    versions: dict[str, str] = msgspec.field(default_factory=dict)
    """Of the tools and what they compute with."""
    cells: tuple[Cell, ...] = ()
    pooled: dict[str, tuple[Finding, ...]] = msgspec.field(default_factory=dict)
    """By model: what all its backends say together."""
