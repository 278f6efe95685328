"""What a lower precision costs in accuracy and gives in speed: every arm of one question, in all its precisions.

Precisions are cases of their own, and no rank spans them: another precision is another answer. What may be said
is how much faster an arm is than itself in fp32, and how much further from the reference.
"""

from collections.abc import Iterator, Sequence
from typing import Literal

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


def summarise(run: Run, blocks: Sequence[BlockAnalysis]) -> tuple[Tradeoff, ...]:
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
        case=group[0].case,
        precisions=tuple(dict.fromkeys(member.case.precision for member in group)),
        levels=tuple(levels),
    )


def _computed(block: Block, arm: str) -> Computed | None:
    reported = [launch.computed for _, launch in collect.launches(block, arm) if launch.computed is not None]
    return reported[-1] if reported else None
