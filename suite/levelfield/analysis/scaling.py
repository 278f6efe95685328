"""How arms scale with threads or processes.

A speed-up is that of an arm over itself with the fewest, efficiency the share of it that was added.

The blocks of different numbers are launches of their own, which take turns generation by generation and not round by
round: an arm's speed-up is paired by generation, so that a machine that changes from one generation to the next does
not tell, and one that changes within a generation does.

Processes train together, each with as many threads as one that trains alone: all have the same batch to divide, so
that this is strong scaling.

References
----------
G. M. Amdahl (1967). Validity of the single processor approach to achieving large scale computing capabilities. AFIPS.
"""

from collections.abc import Sequence
from typing import Literal, TypeAlias

import msgspec

from levelfield.analysis import estimates
from levelfield.analysis.precision import Member, apart_in
from levelfield.analysis.types import BlockAnalysis, Estimate, Row
from levelfield.record.schema import Case, Run
from levelfield.statistics.student import EndedBy

Over: TypeAlias = Literal["threads", "processes"]
"""What there is more and less of."""


class Point(msgspec.Struct, frozen=True):
    """One arm with one number of threads or processes."""

    count: int
    row: Row
    speed_up: Estimate | None
    """Over itself with the fewest, where it is exactly 1; None where one of the two is missing."""
    efficiency: Estimate | None
    """Speed-up ÷ (count ÷ fewest): 1 where every added one does as much as the first."""


class Curve(msgspec.Struct, frozen=True):
    arm: str
    backend: str
    points: tuple[Point, ...]

    def at(self, count: int) -> Point | None:
        """Return its point with so many; None where it has none."""
        return next((point for point in self.points if point.count == count), None)


class Scaling(msgspec.Struct, frozen=True):
    """One question: a model, a scenario, a precision, a batch and a device, and processes or threads."""

    case: Case
    """That with the fewest."""
    over: Over
    counts: tuple[int, ...]
    """In rising order."""
    curves: tuple[Curve, ...]
    """In the order of the block with the most."""

    @property
    def one(self) -> str:
        """What one of them is called."""
        return {"threads": "thread", "processes": "process"}[self.over]


def summarise(run: Run, blocks: Sequence[BlockAnalysis]) -> tuple[Scaling, ...]:
    """Return the scaling of every question that was measured with several numbers of threads, or of processes."""
    counted: tuple[Over, ...] = "threads", "processes"
    return tuple(_scaling(group, over) for over in counted for group in apart_in(run, blocks, over))


def _scaling(group: tuple[Member, ...], over: Over) -> Scaling:
    def count(member: Member) -> int:
        return member.case.threads if over == "threads" else member.case.processes

    members = sorted(group, key=count)
    counts = tuple(map(count, members))
    costs = [member.costs_ns() for member in members]
    rows = [{row.arm: row for row in member.rows()} for member in members]
    curves = []
    for arm, last in rows[-1].items():
        points = [
            _point(number, rows[index][arm], costs[index].get(arm, {}), costs[0].get(arm, {}), counts[0])
            for index, number in enumerate(counts)
            if arm in rows[index]
        ]
        curves.append(Curve(arm=arm, backend=last.backend, points=tuple(points)))
    return Scaling(case=members[0].case, over=over, counts=counts, curves=tuple(curves))


def _point(count: int, row: Row, costs: dict[int, float], first: dict[int, float], fewest: int) -> Point:
    faster: Estimate | None = None
    if costs and first:
        faster = Estimate(1.0) if count == fewest else estimates.ratio(first, costs, ended=EndedBy.PLAN)
    return Point(
        count=count,
        row=row,
        speed_up=faster,
        efficiency=faster.scaled(fewest / count) if faster is not None else None,
    )
