"""What a lower precision costs in accuracy and gives in speed: every arm of one question, in all its precisions.

Precisions are cases of their own, and no rank spans them: another precision is another answer. What may be said
is how much faster an arm is than itself in fp32, and how much further from the reference.
"""

from collections.abc import Sequence

import msgspec

from levelfield.analysis import collect, estimates, groups
from levelfield.analysis.groups import Member
from levelfield.analysis.types import BlockAnalysis, Estimate, Row
from levelfield.record.schema import Block, Case, Computed, Run
from levelfield.statistics.ending import EndedBy

BASE = "fp32"


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
    return tuple(_tradeoff(group) for group in groups.apart_in(run, blocks, "precision"))


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
