"""Insights as plain data: numbers and what they were made of; `suite.report.insights` says them in words."""

from typing import Literal, TypeAlias

import msgspec

from suite.record.schema import Case, Work


class Span(msgspec.Struct, frozen=True):
    """A value and how far it may be off; bounds are None where nothing says so."""

    value: float
    low: float | None = None
    high: float | None = None


class Ceiling(msgspec.Struct, frozen=True):
    """A rate that this machine was seen to reach: the median of some samples, and their range."""

    per_s: float
    lowest: float
    highest: float
    samples: int


class Ceilings(msgspec.Struct, frozen=True):
    """What NumPy reached on so many threads: lower bounds of the peaks."""

    threads: int
    gemm_size: int
    flops: Ceiling
    array_bytes: int
    bytes: Ceiling
    cache_bytes: int | None
    """Last level of cache; None: not known."""
    disturbed: str = ""


Bound: TypeAlias = Literal["compute", "memory", "overhead", "neither"]
"""What limits a call.

compute
    It computes at half the measured rate of matrix products or more.
memory
    What it must move takes half the measured bandwidth or more, and more than its share of the arithmetic.
overhead
    It is below a tenth of both: most of a call is spent on neither.
neither
    In between: how well its kernels use the cores limits it.
"""


class Use(msgspec.Struct, frozen=True):
    """How one arm used the machine in a case."""

    arm: str
    backend: str
    bound: Bound
    call_ns: Span
    """Time of a call: the median, or where throughput is asked batch ÷ items per second."""
    flops_per_s: Span
    compute_share: Span
    """Of the measured rate of matrix products. Above 1: it is faster than NumPy, or computes less than was counted."""
    bytes_per_s: Span | None
    """None: weights and activations fit into the last cache, so that nothing needs to come from memory."""
    memory_share: Span | None
    cpu_cores: float | None
    """Cores kept busy."""
    libraries: tuple[str, ...]
    """Kinds of numerical libraries that its process had loaded: `oneDNN`, `MKL`, …"""


class CaseUse(msgspec.Struct, frozen=True):
    """What a case asks of the machine, and how each arm answered."""

    case: Case
    work: Work
    ceilings: Ceilings
    footprint_bytes: int
    """Weights and the widest layer's activations."""
    fits_cache: bool
    floor_ns: float
    """The least time a call could take at the measured ceilings."""
    fewer_products: float
    """Share of the arithmetic in 3×3 convolutions of stride 1, which can be done with fewer multiplications
    (Winograd)."""
    uses: tuple[Use, ...]


Verdict: TypeAlias = Literal["at once", "after", "maybe", "never"]
"""Whether compiling pays back: from the first call on, after some calls, not decided by these intervals, or never."""


class Payback(msgspec.Struct, frozen=True):
    """What compiling costs an arm at its start, and gives back call by call, against an arm that does not compile."""

    model: str
    precision: str
    batch: int
    arm: str
    mode: str
    """How it compiles, in its own words."""
    against: str
    same_framework: bool
    """`against` is the same framework without its compiler; else it is the fastest arm that does not compile."""
    compile_ns: float
    """Its load and first call, median."""
    cold_ns: Span
    against_cold_ns: Span
    call_ns: float
    against_call_ns: float
    ratio: Span
    """Its call over the other's."""
    verdict: Verdict
    calls: Span | None = None
    """After how many calls it is ahead; bounds from those of the ratio and the cold starts. The upper one is None where
    it may never be."""


class BatchRate(msgspec.Struct, frozen=True):
    batch: int
    items_per_s: Span


class ArmSaturation(msgspec.Struct, frozen=True):
    arm: str
    backend: str
    rates: tuple[BatchRate, ...]
    """By batch, smallest first; two at the least."""
    saturates_at: int | None
    """Smallest batch that reaches 95 % of the highest rate; None: that is the largest batch measured, so it may still
    rise."""
    gain: float
    """Highest rate over that of the smallest batch."""
    allowed: tuple[int, ...]
    """Batches that may be the smallest to reach 95 %, as far as the intervals of the rates tell; the largest measured
    stands for "it may still rise". Empty: a rate has no interval."""


class Saturation(msgspec.Struct, frozen=True):
    """From which batch on a larger one gains nothing."""

    case: Case
    """Of the largest batch measured."""
    batches: tuple[int, ...]
    arms: tuple[ArmSaturation, ...]


class Headroom(msgspec.Struct, frozen=True):
    """What is left of the memory that a worker may take."""

    case: Case
    least_arm: str
    least_bytes: float
    most_arm: str
    most_bytes: float
    limit_bytes: int | None
    """What a worker may take; None: not recorded."""
    machine_bytes: int | None
    weight_bytes: int | None
    """Of the model, in float32; None: not counted."""


class ArmWait(msgspec.Struct, frozen=True):
    """How long one arm waited for data."""

    arm: str
    share: Span
    """Of its time spent waiting: the median over launches, and their range."""
    items_per_s: float
    """With the data as they come."""
    step_items_per_s: float
    """If it never waited."""
    feed: str
    workers: str


class Waiting(msgspec.Struct, frozen=True):
    """How long arms waited for data that come from a dataset on disk."""

    case: Case
    arms: tuple[ArmWait, ...]


class Insights(msgspec.Struct, frozen=True):
    ceilings: tuple[Ceilings, ...] = ()
    resources: tuple[CaseUse, ...] = ()
    payback: tuple[Payback, ...] = ()
    saturation: tuple[Saturation, ...] = ()
    headroom: tuple[Headroom, ...] = ()
    waiting: tuple[Waiting, ...] = ()
