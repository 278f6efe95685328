"""Cases that differ in one property alone: threads, processes, precision, or a size of a user's own file.

**Threads and processes.** A speed-up is that of an arm over itself with the fewest, efficiency the share of it that was
added.

The blocks of different numbers are launches of their own, which take turns generation by generation and not round by
round: an arm's speed-up is paired by generation, so that a machine that changes from one generation to the next does
not tell, and one that changes within a generation does.

Processes train together, each with as many threads as one that trains alone: all have the same batch to divide, so
that this is strong scaling.

**Precisions** are cases of their own, and no rank spans them: another precision is another answer. What may be said
is how much faster an arm is than itself in fp32, and how much further from the reference.

References
----------
G. M. Amdahl (1967). Validity of the single processor approach to achieving large scale computing capabilities. AFIPS.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Literal, TypeAlias

import msgspec

from levelfield.analysis import collect, estimates
from levelfield.analysis.launch_levels import launch_levels
from levelfield.analysis.types import BlockAnalysis, Estimate, Row, TimedBlock
from levelfield.record.schema import Block, Case, Computed, Run
from levelfield.statistics.student import EndedBy

BASE = "fp32"


class Member(msgspec.Struct, frozen=True):
    """One timed block, as it was measured and as it was analysed."""

    block: Block
    found: TimedBlock

    @property
    def case(self) -> Case:
        return self.block.case

    def costs_ns(self) -> dict[str, dict[int, float]]:
        """Return what its arms are compared by, arm to generation to time; computed from the samples anew."""
        return launch_levels(self.block)

    def rows(self) -> Iterator[Row]:
        """Yield its arms except repetitions, such as the control."""
        first = {arm.id for arm in self.block.arms if arm.ordinal == 1}
        return (row for row in self.found.rows if row.arm in first)


def apart_in(
    run: Run, blocks: Sequence[BlockAnalysis], name: Literal["precision", "threads", "processes"]
) -> tuple[tuple[Member, ...], ...]:
    """Group the timed blocks of a run whose cases differ in one field alone."""
    groups: dict[tuple[object, ...], list[Member]] = {}
    for block, found in zip(run.blocks, blocks, strict=True):
        if isinstance(found, TimedBlock):
            rest = tuple(value for field, value in msgspec.structs.asdict(block.case).items() if field != name)
            groups.setdefault(rest, []).append(Member(block, found))
    return tuple(tuple(group) for group in groups.values() if len({getattr(each.case, name) for each in group}) > 1)


class Level(msgspec.Struct, frozen=True):
    """One arm in one precision."""

    precision: str
    row: Row
    speed_up: Estimate | None
    """Of this arm over itself in fp32: above 1 is faster. Paired by generation, since blocks take turns in each; None
    in fp32 itself, and where that was not measured."""
    computed: Computed | None
    """What its framework reported that it computed in, in its last launch with such a report."""


class Tradeoff(msgspec.Struct, frozen=True):
    """One question: a model, a scenario, a batch, threads and a device."""

    case: Case
    """The first of its cases; the precision is to be left out."""
    precisions: tuple[str, ...]
    levels: tuple[Level, ...]
    """By precision, in the order of the run, and within it as the block ranks them."""


def tradeoffs(run: Run, blocks: Sequence[BlockAnalysis]) -> tuple[Tradeoff, ...]:
    """Return every question that was measured in several precisions."""
    return tuple(_tradeoff(group) for group in apart_in(run, blocks, "precision"))


def _tradeoff(group: tuple[Member, ...]) -> Tradeoff:
    base = next((member.costs_ns() for member in group if member.case.precision == BASE), {})
    levels = []
    for member in group:
        costs = member.costs_ns() if member.case.precision != BASE else {}
        for row in member.rows():
            faster = None
            if base.get(row.arm) and costs.get(row.arm):
                faster = estimates.ratio(base[row.arm], costs[row.arm], ended=EndedBy.PLAN)
            levels.append(Level(member.case.precision, row, faster, _computed(member.block, row.arm)))
    return Tradeoff(
        case=group[0].case, precisions=tuple(dict.fromkeys(each.case.precision for each in group)), levels=tuple(levels)
    )


def _computed(block: Block, arm: str) -> Computed | None:
    reported = [launch.computed for _, launch in collect.launches(block, arm) if launch.computed is not None]
    return reported[-1] if reported else None


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


def scalings(run: Run, blocks: Sequence[BlockAnalysis]) -> tuple[Scaling, ...]:
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
        count=count, row=row, speed_up=faster, efficiency=faster.scaled(fewest / count) if faster is not None else None
    )


BATCH = "batch"


class SizePoint(msgspec.Struct, frozen=True):
    size: int
    row: Row


class Line(msgspec.Struct, frozen=True):
    """One arm, with all sizes but one held."""

    arm: str
    backend: str
    held: str
    """The other sizes, `height 32, batch 1`; empty where one size alone was varied."""
    points: tuple[SizePoint, ...]
    """In rising order."""

    def at(self, size: int) -> Row | None:
        return next((point.row for point in self.points if point.size == size), None)


class BySize(msgspec.Struct, frozen=True):
    """The time of a call of every arm by size, in one precision and with one number of threads."""

    case: Case
    """The first of its cases."""
    file: str
    over: str
    """The dimension that is varied, or `batch`."""
    sizes: tuple[int, ...]
    lines: tuple[Line, ...]


def by_size(run: Run, blocks: Sequence[BlockAnalysis]) -> tuple[BySize, ...]:
    """Return the times of a call by size; empty where the file was measured at one size."""
    own = run.settings.own
    if own is None:
        return ()
    dimensions = {each.model: each.dimensions for each in own.sized}
    groups: dict[tuple[object, ...], list[Member]] = {}
    for block, found in zip(run.blocks, blocks, strict=True):
        case = block.case
        if isinstance(found, TimedBlock) and case.model in dimensions and not case.stays_on_device:
            groups.setdefault((case.precision, case.threads, case.device), []).append(Member(block, found))
    made = (_group(own.file, list(own.dimensions), dimensions, group) for group in groups.values())
    return tuple(each for each in made if each is not None)


def _group(
    file: str, names: Sequence[str], dimensions: Mapping[str, Mapping[str, int]], group: Sequence[Member]
) -> BySize | None:
    sizes = [{**dimensions[each.case.model], BATCH: each.case.batch} for each in group]
    varied = [name for name in (*names, BATCH) if len({each.get(name) for each in sizes}) > 1]
    if not varied:
        return None
    over, *rest = varied
    lines: dict[tuple[str, str, str], dict[int, Row]] = {}
    for size, member in zip(sizes, group, strict=True):
        held = ", ".join(f"{name} {size[name]}" for name in rest if name in size)
        for row in member.rows():
            if over in size:
                lines.setdefault((held, row.arm, row.backend), {}).setdefault(size[over], row)
    return BySize(
        case=group[0].case,
        file=file,
        over=over,
        sizes=tuple(sorted({each[over] for each in sizes if over in each})),
        lines=tuple(Line(arm, backend, held, _points(rows.items())) for (held, arm, backend), rows in lines.items()),
    )


def _points(rows: Iterable[tuple[int, Row]]) -> tuple[SizePoint, ...]:
    return tuple(SizePoint(size, row) for size, row in sorted(rows, key=lambda each: each[0]))
