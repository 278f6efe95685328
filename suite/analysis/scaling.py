"""How arms scale with threads: speed-up over themselves with the fewest, and the share of the added threads it takes.

The blocks of different numbers of threads are launches of their own, which take turns generation by generation and not
round by round: an arm's speed-up is paired by generation, so that a machine that changes from one generation to the
next does not tell, and one that changes within a generation does.

References
----------
G. M. Amdahl (1967). Validity of the single processor approach to achieving large scale computing capabilities. AFIPS.
"""

import msgspec

from suite.analysis import estimates, groups
from suite.analysis.groups import Member
from suite.analysis.types import Analysis, Estimate, Row
from suite.records.schema import Case, Run


class Point(msgspec.Struct, frozen=True):
    """One arm with one number of threads."""

    threads: int
    row: Row
    speed_up: Estimate | None
    """Over itself with the fewest threads, where it is exactly 1; None where one of the two is missing."""
    efficiency: Estimate | None
    """Speed-up ÷ (threads ÷ fewest threads): 1 where every added thread does as much as the first."""


class Curve(msgspec.Struct, frozen=True):
    arm: str
    backend: str
    points: tuple[Point, ...]

    def at(self, threads: int) -> Point | None:
        """Return its point with so many threads; None where it has none."""
        return next((point for point in self.points if point.threads == threads), None)


class Scaling(msgspec.Struct, frozen=True):
    """One question: a model, a scenario, a precision, a batch and a device."""

    case: Case
    """That with the fewest threads."""
    threads: tuple[int, ...]
    """In rising order."""
    curves: tuple[Curve, ...]
    """In the order of the block with the most threads."""


def summarise(run: Run, analysis: Analysis) -> tuple[Scaling, ...]:
    """Return every question that was asked with several numbers of threads."""

    def rest(case: Case) -> tuple[str, str, str, int, str]:
        return case.model, case.scenario, case.precision, case.batch, case.device

    return tuple(_scaling(group) for group in groups.apart_in(run, analysis, rest, lambda case: case.threads))


def _scaling(group: tuple[Member, ...]) -> Scaling:
    members = sorted(group, key=lambda member: member.case.threads)
    costs = [member.costs_ns() for member in members]
    rows = [{row.arm: row for row in member.rows()} for member in members]
    curves = []
    for arm, last in rows[-1].items():
        points = [
            _point(
                member.case.threads, rows[place][arm], costs[place].get(arm, {}), costs[0].get(arm, {}), members[0].case
            )
            for place, member in enumerate(members)
            if arm in rows[place]
        ]
        curves.append(Curve(arm=arm, backend=last.backend, points=tuple(points)))
    return Scaling(case=members[0].case, threads=tuple(member.case.threads for member in members), curves=tuple(curves))


def _point(threads: int, row: Row, costs: dict[int, float], fewest: dict[int, float], base: Case) -> Point:
    faster: Estimate | None = None
    if costs and fewest:
        faster = Estimate(1.0) if threads == base.threads else estimates.ratio(fewest, costs, sequential=False)
    return Point(
        threads=threads,
        row=row,
        speed_up=faster,
        efficiency=_scaled(faster, base.threads / threads) if faster is not None else None,
    )


def _scaled(estimate: Estimate, factor: float) -> Estimate:
    low, high = estimate.low, estimate.high
    return Estimate(
        estimate.value * factor,
        None if low is None else low * factor,
        None if high is None else high * factor,
    )
