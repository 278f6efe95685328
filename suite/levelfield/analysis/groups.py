"""Groups of cases that differ in one property alone: precisions of one question, or numbers of threads."""

from collections.abc import Iterator, Sequence
from typing import Literal

import msgspec

from levelfield.analysis.launch_levels import launch_levels
from levelfield.analysis.types import BlockAnalysis, Row, TimedBlock
from levelfield.record.schema import Block, Case, Run


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
