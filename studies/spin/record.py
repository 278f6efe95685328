"""What the spin trial measured and found, as it is committed."""

from typing import ClassVar, Literal

import msgspec

from studies.record import Measurement
from suite.record.schema import Case
from suite.statistics.proportions import Proportion

KEPT_CALLS = 8
Rule = Literal["fixed 40 ms", "until still", "until still, no warm call"]
RULES: tuple[Rule, ...] = ("fixed 40 ms", "until still", "until still, no warm call")
"""How a window begins: after unrecorded calls for 40 ms, as it did before; when all workers' CPU clocks stand still,
after the unrecorded calls of `suite.schedule.rounds`; the same without these calls."""


class Window(msgspec.Struct, frozen=True, array_like=True):
    """One window, as one row."""

    rule: Rule
    arm: str
    before: str
    """The arm whose window came before it."""
    waited_ns: int
    """Until all CPU clocks stood still; 0 where the rule does not wait."""
    busy: tuple[str, ...]
    """Arms that were still computing at the limit of the wait."""
    warm_calls: int
    warm_ns: int
    """Unrecorded calls, and how long they took."""
    calls: int
    later_ns: float
    """Median of all timed calls but the first."""
    first_ns: tuple[int, ...]
    """The first `KEPT_CALLS` timed calls."""
    idle_workers_ns: int | None
    """CPU time of the other workers from the end of the wait to the end of the window; None: not known."""
    others_ns: int | None
    elapsed_ns: int


class Cell(msgspec.Struct, frozen=True):
    """One model."""

    case: Case
    arms: tuple[str, ...]
    window_ns: int
    min_calls: int
    windows: tuple[Window, ...]
    """In the order they were taken."""


class Finding(msgspec.Struct, frozen=True):
    """The windows of some arms that came after one arm, under one rule."""

    model: str
    rule: Rule
    before: str
    of: tuple[str, ...]
    """Arms whose windows were counted."""
    slow: Proportion
    """Windows whose first call took more than `studies.spin.findings.SLOW` times their later calls' median."""
    mean_excess: float
    """Mean of the first call ÷ the later calls' median, less one."""
    waited_ns: float
    """Median wait."""


class Verdict(msgspec.Struct, frozen=True):
    """Whether a first call after ONNX Runtime is slow no more often than after the canary, under one rule."""

    model: str
    rule: Rule
    of: tuple[str, ...]
    """Arms whose windows were counted: those that can follow both."""
    after_spinning: Proportion
    after_canary: Proportion
    holds: bool
    """The share after ONNX Runtime is at most the upper end of the interval of the share after the canary."""


class Warming(msgspec.Struct, frozen=True):
    """How calls become fast when a window begins after the wait and without unrecorded calls."""

    model: str
    arm: str
    windows: int
    ratios: tuple[float, ...]
    """Median over windows of the first, second, … call ÷ the median of the later ones."""


class Trial(Measurement, frozen=True, kw_only=True):
    """The whole record."""

    TRIAL: ClassVar = "spin"

    launcher: str
    warm_calls: int
    warm_ns: int
    """Unrecorded calls of the rule `until still`: at least so many, at least so long."""
    cells: tuple[Cell, ...] = ()
    findings: tuple[Finding, ...] = ()
    verdicts: tuple[Verdict, ...] = ()
    warming: tuple[Warming, ...] = ()
