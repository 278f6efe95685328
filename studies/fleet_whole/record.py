"""The record of the trial of a whole fleet: facts of each part, and the findings that follow from them."""

from typing import ClassVar, Literal, TypeAlias

import msgspec

from studies.record import MachineRecord
from suite.fleet.types import NodeVerdict
from suite.plan import CANARY

Kind: TypeAlias = Literal["as measured", "drift taken off"]
"""What was done to the records of a fleet; `studies.fleet_whole.replay` explains it."""


class Whole(msgspec.Struct, frozen=True):
    """A fleet that nothing befell."""

    nodes: int
    records: int
    """That came back, each of another run."""
    answers: int
    """Different output digests, over all nodes and cases of one question."""
    exit_code: int
    answer: str
    """What was said of the nodes."""
    left: int
    """Processes that measured and were still there when the head had ended."""
    seconds: float


class Killed(msgspec.Struct, frozen=True):
    """A fleet in which something was killed while a node was within its run."""

    what: Literal["node", "head"]
    processes: int
    """That got SIGKILL."""
    rounds: int
    """Of the run that was cut off, on the disk when all of it had ended."""
    kept: int
    lost: int
    again: int
    """Windows of that run, as `studies.journalled.Windows` has them."""
    left: int
    """Processes and containers that measured, and were still there a while after."""
    ended_s: float
    """From the kill until they had ended."""
    resumed: bool
    """Whether the record is of the run that was cut off."""
    others: int
    """Other nodes."""
    undisturbed: int
    """Of them, those whose run came back at the first attempt, was not resumed, and has all its generations."""
    untouched: bool
    """Whether no file of a run that had come back before was written again."""
    records: int
    exit_code: int
    seconds: float


class SlowedResult(msgspec.Struct, frozen=True):
    """What was said of the slowed node in one result."""

    result: str
    verdict: NodeVerdict
    ratio: float | None
    """To the centre of its peers."""
    low: float | None
    high: float | None
    spread: float | None
    """Between peers, log scale."""
    finds: float | None
    """Smallest factor that would be found."""


class Slowed(msgspec.Struct, frozen=True):
    """A fleet of replayed peers with one slowed node."""

    effect: float
    """0.1 is 10 %."""
    kind: Kind
    draw: int
    """Which draw of peers."""
    verdict: NodeVerdict
    reason: str
    results: tuple[SlowedResult, ...]
    others_named: tuple[NodeVerdict, ...]
    """Verdicts on peers that were called slow, fast or noisy in a result."""
    seconds: float
    """That `levelfield fleet gather` took."""

    @property
    def found(self) -> bool:
        """Whether the node was called slow."""
        return any(each.verdict is NodeVerdict.SLOW for each in self.results)

    @property
    def of_arm(self) -> SlowedResult:
        """What was said of the arm that was slowed down."""
        return next(each for each in self.results if each.result != CANARY)


class Replay(msgspec.Struct, frozen=True):
    """Peers that are replayed records, and nodes that were really slowed down."""

    nodes: int
    """Of a fleet, the slowed one among them."""
    runs_each: int
    """Of each node."""
    node_sd: float
    """Between nodes, log scale, drawn."""
    run_sd: float
    """Between runs, log scale, drawn where drift is taken off."""
    shared: float
    """Part of the variance between nodes that all cases of a node have in common."""
    scatter: dict[str, float]
    """By case: standard deviation of the logarithm of the cost between runs, of the arm that is not slowed down and of
    the canary."""
    paired: dict[str, dict[str, float]]
    """By amount and case: the slowed arm over the other one of the same run, geometric mean over runs."""
    fleets: tuple[Slowed, ...]

    def of(self, effect: float, kind: Kind) -> tuple[Slowed, ...]:
        """Return the fleets of one kind, by how much slower than its peers the slowed node is.

        Parameters
        ----------
        effect, kind
            As they have them.
        """
        found = [each for each in self.fleets if (each.effect, each.kind) == (effect, kind)]
        return tuple(sorted(found, key=lambda each: each.of_arm.ratio or 0.0))


class Arrived(msgspec.Struct, frozen=True):
    """A bundle that went to nodes with empty caches, which can fetch nothing."""

    nodes: int
    without: str
    """What a node said that had to measure without a bundle."""
    changed: str
    """What it said of a bundle with one changed byte under the digest of the right one."""
    forged: str
    """And of one that was sent under a digest of its own, so that only its manifest can tell."""
    left_of_forged: int
    """Files of that bundle in the cache whose content is not what a lock names."""
    packed: int
    """How often the head packed a bundle for these nodes."""
    wheel_bytes: int
    """Of all wheels that one node got."""
    wheels: int
    """Files in the nodes' caches in the end."""
    wheels_right: int
    """Of these, those whose SHA-256 a lock of the plan names."""
    wheels_needed: int
    """That the locks of the plan name, over all nodes."""
    environments: tuple[str, ...]
    """Made on the nodes."""
    expected: tuple[str, ...]
    """Environments that the locks name."""
    records: int
    exit_code: int
    seconds: float


class Finding(msgspec.Struct, frozen=True):
    """One of the statements that the trial was made to check."""

    statement: str
    holds: bool | None
    """None: it is reported, and nothing was aimed at."""
    seen: str


class Record(MachineRecord, frozen=True, kw_only=True):
    """The whole record."""

    TRIAL: ClassVar = "fleet-whole"

    finished: str
    seed: int
    """Of the peers that were drawn."""
    ray: str
    launcher: str
    """Of all parts but the bundle, whose nodes use virtual environments."""
    plan: str
    """Options of `levelfield fleet run`."""
    slowed_plan: str
    """What is asked instead where nodes are slowed down."""
    load_before: tuple[float, float, float]
    load_after: tuple[float, float, float]
    """Load averages of the machine; the trial's own runs are part of the second."""
    whole: Whole
    node: Killed
    head: Killed
    replay: Replay
    bundle: Arrived
    findings: tuple[Finding, ...] = ()
