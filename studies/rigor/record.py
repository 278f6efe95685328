"""The record of the rigor trial: a long stream of windows in the order of time, and what every rule made of it."""

from typing import ClassVar

import msgspec

from studies.commands import Record
from suite.record.schema import Artifact, Case, Fingerprint, Image
from suite.statistics.proportions import Proportion
from suite.statistics.variance import VarianceSplit

KEPT_CALLS = 20
"""Single calls that are kept of each window: a rule that looks at calls wants ten at the most, and a ResNet-50 window
of 0.2 s has about as many; an MLP window has ten thousand."""


class Window(msgspec.Struct, frozen=True, array_like=True):
    """One turn of one arm, as one row."""

    arm: int
    """Index of the arm; -1: the canary."""
    start_ns: int
    """Since the stream began, by the monotonic clock."""
    wall_ns: int
    """What the turn took altogether: unrecorded calls, window, asking and answering."""
    calls: int
    median_ns: int
    mean_ns: int
    p10_ns: int
    p90_ns: int
    calls_ns: tuple[int, ...]
    """The first `KEPT_CALLS` calls."""


class Outside(msgspec.Struct, frozen=True, array_like=True):
    """What the machine did meanwhile, seen from outside the workers, as one row; None: not known here."""

    elapsed_ns: int
    steal_ns: int | None
    others_ns: int | None
    idle_workers_ns: int | None
    pressure_ns: int | None
    supervisor_ns: int


class Pair(msgspec.Struct, frozen=True):
    """The turns of two arms, one after the other in random order: a round, had these two been alone."""

    lane: int
    """Arms 2 × lane and 2 × lane + 1."""
    windows: tuple[Window, Window]
    """In the order they were taken."""
    outside: Outside
    disturbed: str = ""
    """By which outside signal; empty: it was not."""


class Round(msgspec.Struct, frozen=True):
    """One turn of every arm, pairs in random order."""

    pairs: tuple[Pair, ...]
    canary: Window | None = None


class Generation(msgspec.Struct, frozen=True):
    """All arms launched anew, alive together."""

    index: int
    started: str
    """UTC."""
    start_ns: int
    launch_ns: int
    """To launch, load and verify all arms, side by side."""
    warm_up_ns: int
    """To warm all of them up, one after the other."""
    rounds: tuple[Round, ...]


class Setup(msgspec.Struct, frozen=True):
    """What is measured; a stream that is taken up again must have the same."""

    case: Case
    backend: str
    arms: int
    rounds: int
    window_ns: int
    min_calls: int
    seed: int
    canary: bool
    against: str = ""
    """A second framework, in streams of earlier versions alone."""
    busy_share: float = 0.0
    """Share of the time for which a competing process keeps one CPU busy; 0: there is none."""


class Tally(msgspec.Struct, frozen=True):
    """How one rule's decisions came out for one effect."""

    effect: float
    """The second arm's recorded times were multiplied by 1 + this."""
    slower: int
    faster: int
    same: int
    inconclusive: int
    """Neither: for rules that know two answers only, *no difference found*."""
    wanted: Proportion | None
    """Without effect: decisions that called a difference, false alarms. With one: decisions that called the second arm
    slower. The interval takes decisions for independent. None: the stream is too short for a single decision."""
    clusters: int
    """Groups of decisions that share no generation with any other: the independent parts of the stream."""
    clustered_low: float | None
    clustered_high: float | None
    """The same interval as if each group were one observation: what is left when a group's decisions are alike."""

    @property
    def decisions(self) -> int:
        return self.slower + self.faster + self.same + self.inconclusive


class Finding(msgspec.Struct, frozen=True):
    """One rule."""

    rule: str
    schedule: str
    source: str
    ours: bool
    seconds: float | None
    """Machine time of a decision on average: its launches and its windows."""
    seconds_most: float | None
    tallies: tuple[Tally, ...]


class Variance(msgspec.Struct, frozen=True):
    """Where the variance of the stream lies."""

    all_arms: VarianceSplit
    """All arms of a round against one another."""
    pair_window_sd: float
    """Between windows of a launch, against the partner alone, measured right before or after."""
    pair_launch_sd: float
    drift_over_generations_sd: float
    """Of the generations' own levels: what a rule meets that measures one arm to the end and then the other."""


class Stream(Record, frozen=True, kw_only=True):
    """The whole record."""

    TRIAL: ClassVar = "rigor"

    started: str
    updated: str
    tool_version: str
    setup: Setup
    machine: Fingerprint
    images: tuple[Image, ...]
    artifacts: tuple[Artifact, ...]
    generations: tuple[Generation, ...] = ()
    lost: tuple[str, ...] = ()
    """Generations that failed, and why: nothing of them is used."""
    resumed: tuple[str, ...] = ()
    findings: tuple[Finding, ...] = ()
    variance: Variance | None = None
    rules_sha256: str = ""
    """Digest of the file with the rules it is judged by, fixed before it began; empty: its stream is older."""
