"""A user's own file at several sizes or batches: the time of a call of every arm, by size."""

from collections.abc import Iterable, Mapping, Sequence

import msgspec

from levelfield.analysis.types import BlockAnalysis, Row, TimedBlock
from levelfield.record.schema import Block, Case, Run

BATCH = "batch"


class Point(msgspec.Struct, frozen=True):
    size: int
    row: Row


class Line(msgspec.Struct, frozen=True):
    """One arm, with all sizes but one held."""

    arm: str
    backend: str
    held: str
    """The other sizes, `height 32, batch 1`; empty where one size alone was varied."""
    points: tuple[Point, ...]
    """In rising order."""

    def at(self, size: int) -> Row | None:
        return next((point.row for point in self.points if point.size == size), None)


class BySize(msgspec.Struct, frozen=True):
    """All sizes of a precision and a number of threads."""

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
    groups: dict[tuple[object, ...], list[tuple[Block, TimedBlock]]] = {}
    for block, found in zip(run.blocks, blocks, strict=True):
        case = block.case
        if isinstance(found, TimedBlock) and case.model in dimensions and not case.stays_on_device:
            groups.setdefault((case.precision, case.threads, case.device), []).append((block, found))
    made = (_group(own.file, list(own.dimensions), dimensions, group) for group in groups.values())
    return tuple(each for each in made if each is not None)


def _group(
    file: str,
    names: Sequence[str],
    dimensions: Mapping[str, Mapping[str, int]],
    group: Sequence[tuple[Block, TimedBlock]],
) -> BySize | None:
    sizes = [{**dimensions[block.case.model], BATCH: block.case.batch} for block, _ in group]
    varied = [name for name in (*names, BATCH) if len({each.get(name) for each in sizes}) > 1]
    if not varied:
        return None
    over, *rest = varied
    lines: dict[tuple[str, str, str], dict[int, Row]] = {}
    for size, (block, found) in zip(sizes, group, strict=True):
        held = ", ".join(f"{name} {size[name]}" for name in rest if name in size)
        first = {arm.id for arm in block.arms if arm.ordinal == 1}
        for row in found.rows:
            if row.arm in first and over in size:
                lines.setdefault((held, row.arm, row.backend), {}).setdefault(size[over], row)
    return BySize(
        case=group[0][0].case,
        file=file,
        over=over,
        sizes=tuple(sorted({each[over] for each in sizes if over in each})),
        lines=tuple(Line(arm, backend, held, _points(rows.items())) for (held, arm, backend), rows in lines.items()),
    )


def _points(rows: Iterable[tuple[int, Row]]) -> tuple[Point, ...]:
    return tuple(Point(size, row) for size, row in sorted(rows, key=lambda each: each[0]))
