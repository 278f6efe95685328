"""What the padding trial measured and found, as it is committed."""

from typing import ClassVar, Literal

import msgspec

from studies.record import Measurement
from suite.record.schema import Case

Treatment = Literal["fixed", "random"]
TREATMENTS: tuple[Treatment, ...] = ("fixed", "random")
"""Padding of 0 bytes in each launch, and padding as `suite.schedule.padding` draws it."""


class Launched(msgspec.Struct, frozen=True, array_like=True):
    """One launch, as one row."""

    treatment: Treatment
    padding_bytes: int
    windows_ns: tuple[float, ...]
    """Median call of each round's window."""


class Generation(msgspec.Struct, frozen=True):
    """Launches that were alive together and took turns."""

    launches: tuple[Launched, ...]
    """As many of either treatment, those of `fixed` first; launched and measured in random order."""
    disturbed: tuple[str, ...]
    """By which outside signal each round was disturbed; empty: it was not."""


class Cell(msgspec.Struct, frozen=True):
    """One model."""

    case: Case
    arm: str
    window_ns: int
    min_calls: int
    generations: tuple[Generation, ...] = ()


class Spread(msgspec.Struct, frozen=True):
    """Launches of one treatment; standard deviations on the log scale, where 0.01 is about 1 %."""

    treatment: Treatment
    launches: int
    level_sd: float
    """Of launch levels within generations."""
    launch_sd: float
    """The same without what the noise of windows adds to it; 0 where that explains all."""
    window_sd: float


class Finding(msgspec.Struct, frozen=True):
    """One model; intervals at 95 %."""

    model: str
    spreads: tuple[Spread, ...]
    variance_ratio: float
    """Variance of launch levels, random ÷ fixed."""
    ratio_low: float
    ratio_high: float
    correlation: float
    """Of level and length of the padding, over launches with random padding (Pearson)."""
    correlation_low: float
    correlation_high: float
    rounds: int
    disturbed_rounds: int


class Trial(Measurement, frozen=True, kw_only=True):
    """The whole record."""

    TRIAL: ClassVar = "padding"

    launcher: str
    cells: tuple[Cell, ...] = ()
    findings: tuple[Finding, ...] = ()
