"""The verdict on a fleet: frozen structs, computed once, that every format writes.

Nodes of like hardware are *peers*. A node's cost in a case is compared with the centre of its peers' costs, and its
answers with those of their majority.
"""

import enum
from typing import Literal, TypeAlias

import msgspec

from levelfield.analysis.summary import RunFacts
from levelfield.analysis.types import Estimate
from levelfield.record.schema import Case

Outcome: TypeAlias = Literal["fine", "worse", "undecided", "aside"]
"""What a verdict means for the exit code, as in `compare.types`."""


class NodeVerdict(enum.StrEnum):
    """What is said of a node, or of a node in one case; the most serious first."""

    WRONG = "computes wrongly"
    """Its answer is not the one of the majority of its peers, to the last bit."""
    FAILED = "failed"
    """It has no result where its peers have one."""
    SLOW = "slow"
    NOISY = "noisy"
    """Its launches or runs scatter more than those of its peers."""
    DIFFERENT = "not like the others"
    """Something of its software, firmware or settings is not what most of its peers have."""
    FAST = "fast"
    UNDECIDED = "not decided"
    """Too few peers or runs, or a run that may have been an odd one."""
    FINE = "fine"


class Difference(msgspec.Struct, frozen=True):
    """A fact of a node that is not what most of its peers have."""

    group: str
    """As in the fingerprint: `gpu`, `kernel`, `clock`, `image onnxruntime` …"""
    name: str
    value: str
    majority: str
    """Value of most peers."""
    share: float
    """Of the peers that have the majority's value, 0 to 1."""


class Cell(msgspec.Struct, frozen=True):
    """One node in one case of one arm."""

    node: str
    result: str
    """Arm and case: `onnxruntime/resnet50/latency/fp32/b1/t2/cpu`."""
    verdict: NodeVerdict
    reason: str = ""
    """A phrase without a full stop."""
    cost: float | None = None
    """Geometric mean over the node's runs, nanoseconds or bytes."""
    ratio: Estimate | None = None
    """The node's cost over its peers' centre, with the simultaneous interval over all nodes and cases; above 1 costs
    more."""
    runs: int = 0
    """That have a result."""
    scatter: float | None = None
    """Standard deviation of the logarithm of the costs of the node's launches, within runs."""


class ResultFacts(msgspec.Struct, frozen=True):
    """One case of one arm over the peers of a group."""

    result: str
    arm: str
    case: Case
    nodes: int
    """That have a result."""
    centre: float | None = None
    """Robust centre of the peers' costs, nanoseconds or bytes."""
    spread: float | None = None
    """Robust standard deviation between peers of the logarithm of the cost: 0.01 is 1 %."""
    finds: float | None = None
    """Smallest slowdown of one node that is found with a probability of 95 %: 1.05 is 5 %. None: there is none."""


class Group(msgspec.Struct, frozen=True):
    """Nodes of like hardware."""

    key: str
    title: str
    """`AMD EPYC …, 64 cores, 512 GiB, NVIDIA H100`."""
    nodes: tuple[str, ...]
    results: tuple[ResultFacts, ...] = ()


class WrongAnswer(msgspec.Struct, frozen=True):
    """An answer that is not the one of the majority of the peers."""

    node: str
    arm: str
    question: str
    """`resnet50/fp32/b1/t2/cpu`."""
    digest: str
    majority: str
    """Digest of the majority's answer."""
    peers: int
    """That gave the majority's answer."""
    of: int
    """Peers with an answer, without the node."""


class Node(msgspec.Struct, frozen=True):
    """One node."""

    name: str
    group: str
    """Key of its group."""
    verdict: NodeVerdict
    """The most serious one."""
    outcome: Outcome
    reason: str = ""
    """Why, in a phrase: `in 3 results, most of all jax/…: it costs 12 % (8–15 %) more than on its peers`."""
    runs: tuple[RunFacts, ...] = ()
    differences: tuple[Difference, ...] = ()
    report: str = ""
    """Path of its newest report, relative to the folder that was gathered; empty: there is none."""


class Fleet(msgspec.Struct, frozen=True):
    """All that is said of a fleet."""

    answer: str
    """One sentence or a few."""
    exit_code: int
    """0 every node fine; 1 a node is slow, wrong or failed; 3 not decided, noisy or not like the others."""
    nodes: tuple[Node, ...]
    """The most serious first."""
    groups: tuple[Group, ...]
    cells: tuple[Cell, ...]
    wrong: tuple[WrongAnswer, ...] = ()
    notes: tuple[str, ...] = ()
    method: str = ""
    margin: float = 0.02
    """A deviation that does not matter."""
    level: float = 0.01
    """Probability that any node of a fleet of like nodes is called slow, fast or noisy in any case."""
