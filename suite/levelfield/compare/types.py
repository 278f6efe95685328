"""The result of a comparison: frozen structs, computed once, that every format writes.

`compare` (runs against runs) and `ab` (arms within one run) both end in a `Comparison`; formatters take nothing else.
"""

import enum
from typing import Literal, TypeAlias

import msgspec

from levelfield.analysis.summary import Question, RunFacts
from levelfield.analysis.types import Estimate
from levelfield.record.schema import Case
from levelfield.scenarios import ScenarioName
from levelfield.statistics import verdicts

Metric: TypeAlias = ScenarioName
"""What a row is about: a scenario measures one thing."""

Outcome: TypeAlias = Literal["fine", "worse", "undecided", "aside"]
"""What a row means for the exit code.

fine
    Shown not to be worse.
worse
    A regression, an answer that became unequal, or a case that worked before and fails now. Exit code 1.
undecided
    Neither shown nor ruled out: never read as "no regression". Exit code 3.
aside
    Cannot be a regression: only the new side has it, or it works now and did not before.
"""


Verdict = verdicts.Verdict


class Movement(enum.StrEnum):
    """How far the outputs of one arm moved from old to new."""

    IDENTICAL = "identical"
    """The same bits."""
    WITHIN = "moved within precision"
    """Other bits, no further apart than rounding in this precision explains."""
    BEYOND = "moved beyond precision"
    BECAME_UNEQUAL = "became unequal"
    """Equal to the reference before, and not any more: a failure."""
    BECAME_EQUAL = "became equal"
    UNEQUAL = "unequal on both sides"
    UNKNOWN = "not compared"


class Row(msgspec.Struct, frozen=True, kw_only=True):
    """One case and metric of one arm, old against new.

    Ratios are always of *cost*, new over old: above 1 is worse. Cost is the time of a call (latency), of an
    item (throughput), to the first answer (cold start), or bytes (memory).
    """

    case: Case
    metric: Metric
    old_arm: str
    """Arm id; empty where the old side does not have it."""
    new_arm: str
    old: float | None = None
    """Typical cost, nanoseconds or bytes."""
    new: float | None = None
    p_value: float | None = None
    p_adjusted: float | None = None
    """Of *no change*, Benjamini–Hochberg adjusted over the rows that were judged together."""
    further_seconds: float | None = None
    """What measuring the further replicates would take, both sides together."""
    limit: float | None = None
    """Of a derived gate: worse is that more than half of the new runs cost more than this."""
    finds: float | None = None
    """Of a derived gate: smallest ratio that so many new runs find, with the probability that it states."""
    node: str = ""
    """Of a fleet: the node that the row is about; empty: all nodes."""
    verdict: Verdict
    outcome: Outcome
    reason: str = ""
    """Why there is no verdict, or what must be known beside it; a phrase without a full stop."""
    ratio: Estimate | None = None
    """New over old; bounds are None where replicates are too few for an interval."""
    confidence: float | None = None
    """Of the interval, after correction for all rows that were judged together. Of a derived gate, each bound of the
    interval misses with half of the rest."""
    old_replicates: int = 0
    new_replicates: int = 0
    paired: bool = False
    """Whether runs of the two sides that were made in turns are compared pair by pair."""
    further: int | None = None
    """Not decided: replicates a side to add until it would be decided, if estimates and spread stay what they are."""
    drift: Estimate | None = None
    """Of an upgrade: the old side after the new one over the old side before it."""

    @property
    def id(self) -> str:
        """`onnxruntime/resnet50/latency/fp32/b1/t2/cpu`, or with both arms where their ids differ."""
        if self.node:
            return f"{self.node}: {msgspec.structs.replace(self, node='').id}"
        if self.old_arm and self.new_arm and self.old_arm != self.new_arm:
            return f"{self.old_arm}→{self.new_arm}/{self.case.id}"
        return f"{self.new_arm or self.old_arm}/{self.case.id}"


class Drift(msgspec.Struct, frozen=True):
    """Whether one arm's answers to one model moved."""

    model: str
    precision: str
    batch: int
    threads: int
    device: str
    old_arm: str
    new_arm: str
    movement: Movement
    outcome: Outcome
    reason: str = ""
    distance: float | None = None
    """‖new − old‖₂ / ‖old‖₂, estimated from the projections."""
    limit: float | None = None
    """Largest distance that rounding explains."""
    old_error: float | None = None
    """Relative error against the float64 reference."""
    new_error: float | None = None

    @property
    def question(self) -> Question:
        return self.model, self.precision, self.batch, self.threads, self.device

    @property
    def id(self) -> str:
        arm = self.new_arm if self.old_arm == self.new_arm else f"{self.old_arm}→{self.new_arm}"
        return f"{arm}/{self.model}/{self.precision}/b{self.batch}/t{self.threads}/{self.device}"


Order: TypeAlias = Literal["lumps", "uneven", "turns", "unknown"]
"""How the runs of two sides follow one another in time (`compare.order_in_time`)."""

State: TypeAlias = Literal["changed", "varies", "same", "unrecorded"]
"""What is known of a fact.

varies
    It differs among the runs of one side, so that it cannot explain a difference between the sides.
unrecorded
    A run did not record it, so that it is not known whether it changed.
"""


class Change(msgspec.Struct, frozen=True):
    """One fact about the environment, old and new."""

    name: str
    old: str
    new: str
    state: State


class ChangeGroup(msgspec.Struct, frozen=True):
    """Facts that belong together; changed ones first."""

    title: str
    changes: tuple[Change, ...]

    @property
    def changed(self) -> tuple[Change, ...]:
        """Facts that differ between the sides or within one; not those that a run did not record."""
        return tuple(change for change in self.changes if change.state in ("changed", "varies"))

    @property
    def unrecorded(self) -> tuple[Change, ...]:
        """Facts that a run did not record."""
        return tuple(change for change in self.changes if change.state == "unrecorded")


class Setting(msgspec.Struct, frozen=True):
    """One fact of the machine that changed together with what was to be changed."""

    where: str
    name: str
    old: str
    new: str
    meant: Literal["upgrade", "accepted", "not meant"]
    """`upgrade`: it belongs to the software stack that was exchanged."""
    reason: str = ""


class Side(msgspec.Struct, frozen=True):
    """All runs (or the one arm) on one side."""

    label: str
    """Its name: a run id, a baseline's name, `3 runs`, or an arm of an `ab`."""
    runs: tuple[RunFacts, ...]


class Derived(msgspec.Struct, frozen=True):
    """Where the limits of a gate come from: the noise of runs without a change (`baseline derive`)."""

    baseline: str
    made: str
    """When the limits were derived, ISO 8601."""
    runs: int
    """Runs that they come from."""
    cases: tuple[str, ...]
    """Result ids that have a limit; they share the rate."""
    false_alarms: float
    """Probability that a comparison without a change calls any of the cases worse."""
    power: float
    """Probability with which the smallest change that is named is found."""
    at_hand: bool
    """Whether the runs themselves are the old side; else the file's figures stand for them."""
    absent: tuple[str, ...] = ()
    """Files of runs that are not at hand, relative to the folder of reports."""
    without: tuple[str, ...] = ()
    """Result ids that have none."""

    @property
    def level(self) -> float:
        """Probability of a false alarm of one case (Bonferroni)."""
        return self.false_alarms / len(self.cases)


class Gate(msgspec.Struct, frozen=True):
    """What counts as the same and as worse, and at which error rate."""

    margin: float = 0.02
    """Relative change that does not matter: what lies inside it on both ends is `same`."""
    max_slowdown: float | None = None
    """Where given, a row is worse only if it is shown to exceed this, and fine only if it is shown not to."""
    q: float = 0.01
    """False discovery rate over all rows judged together; a derived gate has a rate of its own instead."""
    derived: Derived | None = None
    """Where given, new runs are compared with limits from the old ones; then one new run is enough."""


class Comparison(msgspec.Struct, frozen=True):
    """Everything a format writes, most important first."""

    answer: str
    """One line for a reader who does not know the tool."""
    exit_code: int
    """0 nothing worse; 1 worse; 3 could not be decided."""
    kind: Literal["compare", "ab", "upgrade", "reproduce"]
    old: Side
    new: Side
    notes: tuple[str, ...]
    """Sentences a reader must know before the numbers: other hardware, too few runs, labels of the runs."""
    rows: tuple[Row, ...]
    """Worse ones first."""
    drifts: tuple[Drift, ...]
    changes: tuple[ChangeGroup, ...]
    gate: Gate
    method: str
    """How the intervals and verdicts were made, in a sentence or two."""
    replicate: Literal["run", "launch", "boot", "node"] = "run"
    order: Order = "unknown"
    """Of the runs in time; of an `ab`, whose arms take turns within a run, it is `turns`."""
    same_hardware: bool | None = True
    """None: it is not known."""
    settings: tuple[Setting, ...] = ()
    """Of an upgrade: what else changed, which is shown before the verdicts."""

    @property
    def moved(self) -> tuple[Drift, ...]:
        """Answers that are not identical, bit by bit."""
        return tuple(drift for drift in self.drifts if drift.movement is not Movement.IDENTICAL)

    @property
    def changed(self) -> tuple[tuple[str, Change], ...]:
        """Facts of the environment that changed, each with the title of its group."""
        return tuple((group.title, change) for group in self.changes for change in group.changed)
