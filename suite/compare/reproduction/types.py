"""Types of the result of running a report again."""

import enum

import msgspec

from suite.analysis.types import Estimate
from suite.compare.types import ChangeGroup, Drift
from suite.record.schema import Case

FORMAT = 1
"""Version of `reproduction.json`."""


class Verdict(enum.StrEnum):
    """Of one result."""

    REPRODUCED = "reproduced"
    """The whole interval of the ratio lies inside the allowance."""
    DIFFERS = "differs"
    """The whole interval of the ratio lies outside the allowance."""
    UNDECIDED = "not decided"
    """The interval of the ratio holds a bound of the allowance, or there are too few launches for an interval."""
    ELSEWHERE = "other hardware, not comparable"
    NUMERICS = "answers differ"
    """The answer is not equal to the reference any more, or moved further than rounding explains: its time says
    nothing."""
    FAILED = "failed"
    """It worked there, and does not here."""
    MISSING = "not measured"


class Result(msgspec.Struct, frozen=True):
    """One arm's answer to one case, there and here."""

    id: str
    arm: str
    case: Case
    verdict: Verdict
    theirs: float | None = None
    """Cost: nanoseconds of a call, of an item or to the first answer; or bytes."""
    ours: float | None = None
    ratio: Estimate | None = None
    """Ours over theirs; bounds are None where launches are too few."""
    reason: str = ""
    launches: int | None = None
    """Not decided: launches here that would decide it, if estimate and spreads stay what they are; None: no number
    within reach would, or it is not known."""


class Reproduction(msgspec.Struct, frozen=True):
    """The whole answer: numerics first, then speed, then what differs around them."""

    format: int
    answer: str
    """One line."""
    exit_code: int
    """0: all of it; 1: something differs; 3: other hardware, or something could not be decided."""
    of: str
    """Id of the run that was to be reproduced."""
    by: str
    """Id of the run that was made here."""
    allowed: float
    """Relative difference that counts as none."""
    same_hardware: bool | None
    numerics: str
    speed: str
    results: tuple[Result, ...]
    """Worst first."""
    drifts: tuple[Drift, ...]
    changes: tuple[ChangeGroup, ...]
    confidence: float = 0.99
    """Of the intervals of ratios."""
