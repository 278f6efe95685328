"""What follows from a record: frozen structs, with a reason where there is no value."""

from collections.abc import Callable
from typing import Literal, TypeAlias

import msgspec

from levelfield.record.schema import Absent, Case, Evaluation, Failure, Parity, Roofline, Work
from levelfield.record.states import Knowledge
from levelfield.statistics.proportions import Proportion
from levelfield.statistics.verdicts import Verdict

Standing: TypeAlias = Literal["ranked", "control", "shown", "unequal", "failed", "absent"]
"""Standing of an arm in its block.

ranked
    Equal to the reference, with enough launches: it has a rank.
control
    The same backend, image and settings a second time: its ratio shows what this run calls "no difference".
shown
    Equal to the reference, with too few launches to rank: numbers, and no rank.
unequal
    Its output is not the reference's: numbers are shown as such, and never ranked.
failed
    It has no numbers, and should have.
absent
    It has no numbers, for a reason that is no fault: unsupported here.
"""


class Estimate(msgspec.Struct, frozen=True):
    """A value and its interval; bounds are None where launches are too few for one."""

    value: float
    low: float | None = None
    high: float | None = None

    def each(self, change: Callable[[float], float]) -> "Estimate":
        """Return the same with all three changed by a rising function."""
        low, high = (None if bound is None else change(bound) for bound in (self.low, self.high))
        return Estimate(change(self.value), low, high)

    def scaled(self, factor: float) -> "Estimate":
        """Return the same in another unit: all three times a positive factor."""
        return self.each(lambda value: value * factor)

    @property
    def extra(self) -> "Estimate":
        """Of a ratio of costs: what is more than the other."""
        return self.each(lambda value: value - 1)

    @property
    def inverse(self) -> "Estimate":
        """The reciprocal: its bounds change places. A bound of zero has none."""
        low, high = (1 / bound if bound else None for bound in (self.high, self.low))
        return Estimate(1 / self.value, low, high)


class Counts(msgspec.Struct, frozen=True):
    """What a row's numbers rest on, and what was left out of them."""

    launches: int
    launches_failed: int
    windows: int
    windows_disturbed: int
    """In rounds called disturbed by outside signals; left out."""
    windows_warming: int
    """Of slow first rounds (`SlowStart`); left out."""
    windows_failed: int
    calls: int
    """Timed calls in the windows counted."""
    windows_not_calm: int = 0
    """In which the machine was not calm; kept apart where the row is of calm windows."""


class BlockStates(msgspec.Struct, frozen=True):
    """The states of the machine in which a block was measured, by probes around its windows."""

    knowledge: Knowledge
    calm: int
    """Windows of all arms in this state, each attempt."""
    probes: int
    """Of the run until the end of the block."""
    low_share: float
    """Of these probes, in the low mode of arithmetic."""
    ranks_differ: tuple[str, ...] = ()
    """Arms that are faster than the leading one when a neighbour is busy, for certain where there are intervals."""


class SlowStart(msgspec.Struct, frozen=True):
    """The first rounds of an arm's launches were slow, by a test across launches (`statistics.counting`)."""

    rounds: int
    """How many were found slow; left out where a launch has others."""
    excess: float
    """By what share the first round was slower than the last ones."""
    settled: bool
    """False: there are no later rounds to show that the launches had settled."""


class ArmRow(msgspec.Struct, frozen=True, kw_only=True):
    """One arm's answer to a case, of any scenario."""

    arm: str
    backend: str
    standing: Standing
    reason: str
    """Why it is not ranked; empty where it is."""
    parity: Parity | None = None
    failure: Failure | None = None
    """The last one, where any launch failed."""

    @property
    def is_equal(self) -> bool:
        """Whether it has numbers, and an output that was compared with the reference and is equal to it."""
        return self.standing in {"ranked", "shown"} and self.parity is not None


class RankedRow(ArmRow, frozen=True, kw_only=True):
    """One arm's answer to a case whose arms are ranked."""

    version: str
    rank: int | None = None
    """At least rank - 1 arms are faster, all pairs judged at once; with rank 1 none is."""
    verdict: Verdict | None = None
    """Of `ratio`: `same` (equal: inside the margin), `slower` (the best is faster), `not decided` (not separated)."""
    ratio: Estimate | None = None
    """Cost relative to the leading arm (time, or time an item), paired by generation: larger is slower. The interval is
    against the true best, whichever that is, holds for all arms of the block at once, and is never below 1."""
    half_width: float | None = None
    """Of the interval of `ratio` before it is cut off at 1, log scale."""
    peak_bytes: float | None = None
    """Peak resident memory, median over launches; where a case has its launches to itself (training)."""


WindowsOf: TypeAlias = Literal["", "calm", "one state", "contended throughout", "all"]
"""What windows a row is of, by the state of the machine.

calm
    Those before and after which it was calm.
one state
    The same, where only one state was ever seen: it may be either.
contended throughout
    All: the machine was hardly ever calm.
all
    All, since the arm was not measured in the calm state in enough launches.
"" (empty)
    All, and nothing probed the machine.
"""
MeasuredIn: TypeAlias = WindowsOf | Literal["disturbed"]
"""The state of the machine that a result is of; disturbed: all rounds of most generations were, from outside."""


class Row(RankedRow, frozen=True, kw_only=True):
    """One arm's answer to a timed case."""

    counts: Counts
    call_ns: Estimate | None = None
    """Time of a call: the geometric mean over launches of each launch's typical window median, with its 95 % interval,
    which holds for the minutes of the run."""
    launch_medians_ns: tuple[float, ...] = ()
    warming: tuple[tuple[int, int], ...] = ()
    """Generation, and how many of its first undisturbed windows are left out as a slow start, where any are."""
    slow_start: SlowStart | None = None
    p50_ns: float | None = None
    p90_ns: float | None = None
    p99_ns: float | None = None
    p999_ns: float | None = None
    """Of all calls that count; None below `statistics.windows.least_calls` of them."""
    items_per_second: Estimate | None = None
    """Batch × calls ÷ window time, by window, summarised like the time of a call."""
    launch_items_per_second: tuple[float, ...] = ()
    with_disturbed: Estimate | None = None
    """The time of a call (latency) or items per second (throughput) with disturbed rounds counted; None where there
    were none."""
    cpu_cores: float | None = None
    """CPU time of the worker ÷ window time: cores kept busy."""
    settings: dict[str, str] = {}
    windows_of: WindowsOf = ""
    contended: Estimate | None = None
    """Cost relative to the arm that leads the case, both by windows in which the machine was contended; without an
    interval where launches are too few. None: it leads, no launch has such windows, or windows of every state count."""
    slowed: float | None = None
    """Its cost when the machine was contended over its cost when calm, launch by launch. None: launches with windows in
    both states are too few."""
    not_calm: tuple[tuple[int, int, int], ...] = ()
    """Windows that were left out since the machine was not calm: generation, round, and number of the attempt."""

    @property
    def launches(self) -> int:
        """Launches that its numbers rest on."""
        return self.counts.launches


class Control(msgspec.Struct, frozen=True):
    """An arm measured twice: the ratio that this run gives where there is no difference."""

    arm: str
    of: str
    ratio: Estimate


class RankedBlock(msgspec.Struct, frozen=True, kw_only=True):
    """A block whose arms are ranked."""

    case: Case
    rows: tuple[RankedRow, ...]
    """Ranked ones first, by rank and within a rank by estimate; then by standing, in the order of the plan."""
    best: str | None
    """Arm id of the leading ranked arm: of those with rank 1, the one with the best estimate."""
    unranked_reason: str
    """Why no arm is ranked; empty where one is."""
    generations: int


class TimedBlock(RankedBlock, frozen=True, kw_only=True):
    """A block of windows in rounds, such as of the `latency`, `throughput` or `training` scenario."""

    rows: tuple[Row, ...]
    rounds: int
    """Undisturbed, complete rounds."""
    rounds_disturbed: int
    rounds_kept: int
    """Disturbed rounds that count all the same, since their generation had no others."""
    generations_kept: tuple[int, ...]
    """The generations that these rounds are of."""
    disturbances: tuple[str, ...]
    """By what, each kind once."""
    controls: tuple[Control, ...] = ()
    states: BlockStates | None = None
    """None: nothing probed the machine."""
    half_width: float | None = None
    """Where precision may end the run: half-width of the widest 95 % interval of a ratio of two arms, log scale. It is
    what the schedule decided by. None otherwise, and with too few launches."""


class ColdRow(ArmRow, frozen=True, kw_only=True):
    """How long one arm takes from nothing to its first answer, with empty caches.

    Phases are medians over launches, the total is their geometric mean.
    """

    launches: int
    start_ns: float | None = None
    import_ns: float | None = None
    load_ns: float | None = None
    first_call_ns: float | None = None
    total_ns: Estimate | None = None
    launch_totals_ns: tuple[float, ...] = ()


class ColdBlock(msgspec.Struct, frozen=True):
    case: Case
    rows: tuple[ColdRow, ...]


class MemoryRow(ArmRow, frozen=True, kw_only=True):
    """Peak resident memory of one arm's process; the median over launches, and their range."""

    launches: int
    peak_bytes: float | None = None
    least_bytes: float | None = None
    most_bytes: float | None = None
    source: str = ""
    launch_peaks_bytes: tuple[float, ...] = ()


class MemoryBlock(msgspec.Struct, frozen=True):
    case: Case
    rows: tuple[MemoryRow, ...]


class Curve(msgspec.Struct, frozen=True):
    """One training of one arm: one seed."""

    points: tuple[Evaluation, ...]
    reached: Evaluation | None
    """The first at the target; None: there is none."""


class ConvergenceRow(RankedRow, frozen=True, kw_only=True):
    """How one arm trains to the target; times are of training steps alone."""

    launches: int
    """Seeds that were trained from."""
    seeds_reached: int
    seeds_diverged: int
    seeds_disturbed: int
    """Disturbed, by signals from outside; they count all the same."""
    time_ns: Estimate | None = None
    """To the target: geometric mean over seeds, with its 95 % t interval."""
    steps: Estimate | None = None
    """The same of steps."""
    median_time_ns: float | None = None
    median_steps: float | None = None
    step_ns: float | None = None
    """Mean step of a training, median over seeds."""
    load_ns: float | None = None
    """Building and compiling, median over launches: in no other time."""
    accuracy: float | None = None
    """At the limit of steps, median over seeds."""
    best_accuracy: float | None = None
    """The highest of all evaluations."""
    launch_times_ns: tuple[float, ...] = ()
    curves: tuple[Curve, ...] = ()


class ConvergenceBlock(RankedBlock, frozen=True, kw_only=True):
    """A block of the `convergence` scenario; ranks are by the time to the target, ratios seed by seed."""

    rows: tuple[ConvergenceRow, ...]
    network: str
    """What was trained; empty where nothing was."""
    target: float | None
    limit: int | None
    """Steps."""


class LoadPoint(msgspec.Struct, frozen=True):
    """One rate of LoadGen's Server scenario, in one launch."""

    generation: int
    offered_per_second: float
    median_ns: float | None
    p99_ns: float | None
    late_share: float | None
    """Of the queries: over the latency target."""
    not_served: int
    held: bool
    """Whether the 99th percentile was inside the target, and every query was served."""
    valid: bool
    """LoadGen's own verdict."""


class LoadGenRow(RankedRow, frozen=True, kw_only=True):
    """What MLPerf LoadGen found of one arm."""

    launches: int
    """With a value."""
    value_ns: Estimate | None = None
    """Of a query (SingleStream, MultiStream, Server) or a sample (Offline): geometric mean over launches, with its 95 %
    t interval."""
    per_second: Estimate | None = None
    """Its inverse where rates count: queries (Server) or samples (Offline)."""
    against_own: Estimate | None = None
    """LoadGen's 90th percentile over this tool's own, of the same workers, in turns with it (SingleStream)."""
    own_p90_ns: float | None = None
    """This tool's own 90th percentile, geometric mean over windows and launches (SingleStream)."""
    launch_values_ns: tuple[float, ...] = ()
    tests: int = 0
    """That decide: all of them, but in Server of each launch the one at the highest rate that held the target."""
    tests_valid: int = 0
    """That LoadGen called VALID."""
    why_invalid: tuple[str, ...] = ()
    """LoadGen's reasons for the others, each once."""
    points: tuple[LoadPoint, ...] = ()
    """Of Server, by offered rate."""
    out_of_reach: str = ""
    """Why no rate held the latency target, in a sentence; empty: one did, or it is not asked."""
    disturbed: int = 0
    """Launches that were disturbed, by signals from outside; they count all the same."""


class LoadGenBlock(RankedBlock, frozen=True, kw_only=True):
    """A block that MLPerf LoadGen drove; ranks are by the value of a launch."""

    rows: tuple[LoadGenRow, ...]
    scenario: str
    version: str
    """Of LoadGen; empty where nothing was tested."""
    target_ns: int | None
    """Latency target of Server."""
    settings: dict[str, float]
    """Given to LoadGen, of the last launch."""
    rules: dict[str, float]
    """The same as MLPerf's rules have them."""


BlockAnalysis: TypeAlias = TimedBlock | ConvergenceBlock | LoadGenBlock | ColdBlock | MemoryBlock
AnyRow: TypeAlias = Row | ConvergenceRow | LoadGenRow | ColdRow | MemoryRow


def compared(row: AnyRow | RankedRow, case: Case) -> tuple[Estimate | None, tuple[float, ...]]:
    """Return what an arm is compared by, and the same of each launch: where items are counted rates, else costs."""
    match row:
        case Row() if case.per_item:
            return row.items_per_second, row.launch_items_per_second
        case Row():
            return row.call_ns, row.launch_medians_ns
        case ConvergenceRow():
            return row.time_ns, row.launch_times_ns
        case LoadGenRow() if case.per_item:
            return row.per_second, tuple(1e9 / each for each in row.launch_values_ns)
        case LoadGenRow():
            return row.value_ns, row.launch_values_ns
        case ColdRow():
            return row.total_ns, row.launch_totals_ns
        case MemoryRow():
            return None if row.peak_bytes is None else Estimate(row.peak_bytes), row.launch_peaks_bytes
        case _:
            return None, ()


class CanaryPoint(msgspec.Struct, frozen=True):
    """The canary's median call in one generation of one block."""

    block: str
    generation: int
    started: str
    median_ns: float


class Canary(msgspec.Struct, frozen=True):
    """How the machine itself changed during the run, by the same fixed work."""

    arm: str
    points: tuple[CanaryPoint, ...]
    """In the order of time."""
    median_ns: float
    spread: float
    """(slowest ÷ fastest generation) − 1."""
    drift: float | None
    """(median of the last third ÷ median of the first third) − 1; None below six generations."""
    moved: bool = False
    """Whether noise does not explain the drift (`statistics.segments`); False where generations are too few."""


class NoiseSummary(msgspec.Struct, frozen=True):
    """Outside signals over all windows of the run, as shares of one core's time; absent with a reason."""

    windows: int
    elapsed_ns: int
    steal_share: float | Absent
    pressure_share: float | Absent
    others_share: float | Absent
    idle_workers_share: float | Absent
    throttled: int | Absent = Absent("not read")
    """How often the processor lowered its clock for heat or power."""
    quota_throttled: int | Absent = Absent("not read")
    """How often a control group's quota was used up."""


class Status(msgspec.Struct, frozen=True):
    """The run in one glance. A result is a block and an arm; an answer is a model, a precision and an arm."""

    results: int
    answers: int
    answers_equal: int
    """Answers compared with the reference and equal to it."""
    answers_compared: int
    answers_doubted: int
    unequal: tuple[str, ...]
    failed: tuple[str, ...]
    absent: tuple[str, ...]
    rounds: int
    rounds_disturbed: int
    rounds_kept: int
    """Disturbed rounds that count all the same."""
    too_disturbed: bool
    """More than a third of the rounds were disturbed."""
    finished: bool
    supervisor_share: float | Absent
    data_sets_failed: tuple[str, ...] = ()
    """Arm, precision and data set of answers that failed, or are of a worker that is not equal to the reference."""


class PooledControls(msgspec.Struct, frozen=True):
    """Controls of several runs; each run's is one draw."""

    draws: int
    different: Proportion | None
    """Draws whose interval leaves out 1, of those that have one; None: none has."""
    ratio: Estimate
    """Geometric mean over the draws, with its interval over them where they are enough."""


class Ceiling(msgspec.Struct, frozen=True):
    """A rate that this machine reached: the median of some samples, and their range."""

    per_s: float
    lowest: float
    highest: float
    samples: int


class Ceilings(msgspec.Struct, frozen=True):
    """What NumPy reached on so many threads: lower bounds of the peaks."""

    roofline: Roofline
    flops: Ceiling
    bytes: Ceiling
    cache_bytes: int | None
    """Last level of cache; None: not known."""


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
    call_ns: Estimate
    """Time of a call: the median, or in throughput cases batch ÷ items per second."""
    flops_per_s: Estimate
    compute_share: Estimate
    """Of the measured rate of matrix products. Above 1: it is faster than NumPy, or computes less than was counted."""
    memory_share: Estimate | None
    """None: weights and activations fit into the last cache, so that nothing needs to come from memory."""
    cpu_cores: float | None
    """Cores kept busy."""
    libraries: tuple[str, ...]
    """Kinds of numerical libraries that its process had loaded: `oneDNN`, `MKL`, …"""


class CaseUse(msgspec.Struct, frozen=True):
    """What a case asks of the machine, and how each arm answered."""

    case: Case
    work: Work
    ceilings: Ceilings
    fits_cache: bool
    floor_ns: float
    """The least time a call could take at the measured ceilings."""
    fewer_products: float
    """Share of the arithmetic in 3×3 convolutions of stride 1, which can be done with fewer multiplications
    (Winograd)."""
    uses: tuple[Use, ...]


PaybackVerdict: TypeAlias = Literal["at once", "after", "maybe", "never"]
"""Whether compiling pays back: from the first call on, after some calls, not decided by these intervals, or never."""


class Payback(msgspec.Struct, frozen=True):
    """What compiling costs an arm at its start and saves in each call, compared with an arm that does not compile."""

    model: str
    precision: str
    batch: int
    arm: str
    against: str
    cold_ns: Estimate
    against_cold_ns: Estimate
    call_ns: float
    ratio: Estimate
    """Its call over the other's."""
    verdict: PaybackVerdict
    calls: Estimate | None = None
    """After how many calls it is ahead; bounds from those of the ratio and the cold starts. The upper one is None where
    it may never be."""


class BatchRate(msgspec.Struct, frozen=True):
    batch: int
    items_per_s: Estimate


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
    """Memory that a worker may still take."""

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
    share: Estimate
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


class WrapperCost(msgspec.Struct, frozen=True):
    """What a backend that computes by another framework takes over that framework's own definition."""

    case: Case
    arm: str
    against: str
    """The framework's own arm."""
    ratio: Estimate
    """Time of a call over the other's, by launches that were measured together; above 1: the wrapper takes longer."""


class ArmParts(msgspec.Struct, frozen=True):
    """What the operators of a network take in one arm, each measured alone."""

    arm: str
    share: Estimate
    """Their times, as often as a call has them, over the time of a call; above 1: alone they take longer."""


class Explained(msgspec.Struct, frozen=True):
    """What share of a network's time its operators explain."""

    case: Case
    """Of the network."""
    macs_share: float
    """Share of its multiply-accumulates that the measured operators have."""
    operators: int
    """How many different ones."""
    arms: tuple[ArmParts, ...]


class Insights(msgspec.Struct, frozen=True):
    ceilings: tuple[Ceilings, ...] = ()
    resources: tuple[CaseUse, ...] = ()
    payback: tuple[Payback, ...] = ()
    saturation: tuple[Saturation, ...] = ()
    headroom: tuple[Headroom, ...] = ()
    waiting: tuple[Waiting, ...] = ()
    wrappers: tuple[WrapperCost, ...] = ()
    explained: tuple[Explained, ...] = ()
