"""The record of the rigor trial: a long stream of windows in the order of time, and what every rule made of it."""

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal, TypeAlias

import msgspec
import numpy as np
from numpy.typing import NDArray

from levelfield.errors import LevelfieldError
from levelfield.record.schema import Artifact, Case, Image
from levelfield.statistics.power import VarianceSplit
from levelfield.statistics.proportions import Proportion
from studies.commands import MachineRecord

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


class Stream(MachineRecord, frozen=True, kw_only=True):
    """The whole record."""

    TRIAL: ClassVar = "rigor"

    updated: str
    setup: Setup
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


Floats: TypeAlias = NDArray[np.float64]
Answer: TypeAlias = Literal["slower", "faster", "same", "inconclusive"]


@dataclass(frozen=True)
class Table:
    """Windows of a stream by generation, round and arm; generations are in the order of time."""

    median_ns: Floats
    """Shape (generations, rounds, arms)."""
    mean_ns: Floats
    wall_s: Floats
    calls_ns: tuple[tuple[tuple[tuple[int, ...], ...], ...], ...]
    """First calls of each window, by generation, round and arm."""
    disturbed: NDArray[np.bool_]
    """Shape (generations, rounds, lanes)."""
    launch_s: Floats
    """Shape (generations,): what one arm's launch costs until it is warm."""
    canary_ns: Floats | None
    """Shape (generations, rounds): the canary's medians."""

    @property
    def generations(self) -> int:
        return int(self.median_ns.shape[0])

    @property
    def rounds(self) -> int:
        return int(self.median_ns.shape[1])

    @property
    def arms(self) -> int:
        return int(self.median_ns.shape[2])

    @property
    def lanes(self) -> int:
        """Pairs of arms."""
        return self.arms // 2

    def seconds(self, generation: int, arm: int, windows: int) -> float:
        """Machine time of one launch and its first windows."""
        return float(self.launch_s[generation] + self.wall_s[generation, :windows, arm].sum())


@dataclass(frozen=True)
class Outcome:
    """One decision of one rule."""

    answer: Answer
    """On the second arm, in comparison with the first."""
    cluster: int
    """Decisions of different clusters share no generation."""
    seconds: float
    """Machine time it consumed."""


@dataclass(frozen=True)
class Rule:
    """A way to decide whether the second of two arms is slower, and the schedule that goes with it."""

    name: str
    schedule: str
    source: str
    decide: Callable[[Table, float], list[Outcome]]
    """From a stream and a factor on the second arm's times to the decisions that the stream has room for."""
    ours: bool = False


def lay_out(generations: Sequence[Generation]) -> Table:
    """Return a stream as arrays."""
    if not generations:
        raise LevelfieldError("The stream holds no complete generation.", fix="Measure some first.")
    rounds, lanes = len(generations[0].rounds), len(generations[0].rounds[0].pairs)
    if any(len(g.rounds) != rounds or any(len(r.pairs) != lanes for r in g.rounds) for g in generations):
        raise LevelfieldError("The stream's generations are of different shape.", fix="The file was changed.")
    pairs = [[sorted(one.pairs, key=lambda pair: pair.lane) for one in each.rounds] for each in generations]
    windows = [[[window for pair in row for window in pair.windows] for row in each] for each in pairs]
    for row in itertools.chain.from_iterable(windows):
        row.sort(key=lambda window: window.arm)
        if [window.arm for window in row] != list(range(2 * lanes)):
            raise LevelfieldError("A window is missing in the stream.", fix="The file was changed.")
    canaries = [[one.canary for one in generation.rounds] for generation in generations]
    seen = all(canary is not None for row in canaries for canary in row)

    def numbers(field: str) -> Floats:
        return np.array([[[getattr(window, field) for window in row] for row in each] for each in windows], dtype=float)

    return Table(
        median_ns=numbers("median_ns"),
        mean_ns=numbers("mean_ns"),
        wall_s=numbers("wall_ns") / 1e9,
        calls_ns=tuple(tuple(tuple(window.calls_ns for window in row) for row in each) for each in windows),
        disturbed=np.array([[[bool(pair.disturbed) for pair in row] for row in each] for each in pairs]),
        launch_s=np.array([(g.launch_ns + g.warm_up_ns) / 1e9 / (2 * lanes) for g in generations]),
        canary_ns=np.array([[c.median_ns for c in row if c] for row in canaries], dtype=float) if seen else None,
    )
