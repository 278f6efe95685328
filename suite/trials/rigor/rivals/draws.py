"""Which launches of a stream a rival's schedule would have drawn: disjoint, and as close together as they can be."""

from collections.abc import Iterator
from typing import NamedTuple, TypeAlias

from suite.trials.rigor.table import Table

Place: TypeAlias = tuple[int, int]
"""Generation and arm: one launch."""


class Draw(NamedTuple):
    """The launches of one decision."""

    first: list[Place]
    second: list[Place]
    cluster: int


def one_after_the_other(table: Table, launches: int) -> Iterator[Draw]:
    """Yield disjoint sets of launches in which all of the first side come before all of the second.

    Each side takes as few generations as hold its launches (all arms are the same program, so each of them is one more
    launch); what is left over of them goes to further decisions, if it is enough for one.
    """
    stretch = -(-launches // table.arms)
    for cluster in range(table.generations // (2 * stretch)):
        start = cluster * 2 * stretch
        first, second = (
            [(g, arm) for g in range(begin, begin + stretch) for arm in range(table.arms)]
            for begin in (start, start + stretch)
        )
        for number in range(len(first) // launches):
            chosen = slice(number * launches, (number + 1) * launches)
            yield Draw(first[chosen], second[chosen], cluster)


def interleaved(table: Table, blocks: int) -> Iterator[Draw]:
    """Yield disjoint sets of blocks; a block is one launch of either side, measured in turn."""
    stretch = -(-blocks // table.lanes)
    for cluster in range(table.generations // stretch):
        start = cluster * stretch
        pairs = [(g, lane) for g in range(start, start + stretch) for lane in range(table.lanes)]
        for number in range(len(pairs) // blocks):
            chosen = pairs[number * blocks : (number + 1) * blocks]
            yield Draw([(g, 2 * lane) for g, lane in chosen], [(g, 2 * lane + 1) for g, lane in chosen], cluster)


def seconds(table: Table, draw: Draw, windows: int) -> float:
    """Return the machine time of a decision that takes so many windows of every launch."""
    return sum(table.seconds(g, arm, windows) for g, arm in (*draw.first, *draw.second))
