"""What the LoadGen trial measured and found, as it is committed."""

from typing import ClassVar, Literal

import msgspec

from studies.estimates import Estimate
from studies.record import Measurement
from suite.record.schema import Case

Kind = Literal["bare", "LoadGen"]


class Turn(msgspec.Struct, frozen=True, array_like=True):
    """One window of bare calls, or one test of LoadGen, as one row."""

    launch: int
    arm: str
    kind: Kind
    calls: int
    each_ns: float
    """Time of the whole turn by call or query: of a window from its first call to its last, of a test as LoadGen's own
    rate says (`QPS w/ loadgen overhead`)."""
    median_ns: float
    p90_ns: float
    """Of the calls, or of the queries' latencies, as LoadGen computes it."""
    elapsed_ns: int
    others_ns: int | None
    """CPU time of other processes in `elapsed_ns`; None: not known."""


class Cell(msgspec.Struct, frozen=True):
    """One model on some arms."""

    case: Case
    arms: tuple[str, ...]
    seconds: float
    """Of a turn."""
    version: str
    """Of LoadGen."""
    turns: tuple[Turn, ...]
    """In the order they were taken."""


class Finding(msgspec.Struct, frozen=True):
    """One arm: LoadGen less bare calls, launch by launch."""

    model: str
    arm: str
    launches: int
    call_ns: float
    """Median bare call, median over launches."""
    latency_ns: Estimate
    """What a query's median latency, as LoadGen reports it, has over a bare call's median."""
    query_ns: Estimate
    """What a query takes in all, from one to the next, over a bare call: LoadGen's whole cost."""
    p90: Estimate
    """LoadGen's 90th percentile over that of bare calls."""


class Trial(Measurement, frozen=True, kw_only=True):
    """The whole record."""

    TRIAL: ClassVar = "loadgen"

    launcher: str
    cells: tuple[Cell, ...] = ()
    findings: tuple[Finding, ...] = ()
