"""Ranks of a block's arms, and their controls."""

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Generic, TypedDict, TypeVar

import msgspec

from levelfield.analysis import estimates
from levelfield.analysis.estimates import Levels
from levelfield.analysis.types import Control, ConvergenceRow, Estimate, LoadGenRow, RankedRow, Row, Standing
from levelfield.record.schema import Arm, Block
from levelfield.statistics import ranking
from levelfield.statistics.student import EndedBy

Ranked = TypeVar("Ranked", Row, ConvergenceRow, LoadGenRow)

_STANDINGS: tuple[Standing, ...] = ("ranked", "control", "shown", "unequal", "failed", "absent")


class Ranking(TypedDict, Generic[Ranked]):
    """The part of a block that follows from ranking its rows."""

    rows: tuple[Ranked, ...]
    best: str | None
    also_first: tuple[str, ...]
    unranked_reason: str


def assign(rows: Mapping[str, Ranked], compared: Levels, *, margin: float, ended: EndedBy) -> Ranking[Ranked]:
    """Rank the rows of a block that may be ranked, and put all of them in order."""
    rows = dict(rows)
    arms = [arm for arm, row in rows.items() if row.standing == "ranked"]
    levels = estimates.matrix({arm: compared[arm] for arm in arms})
    leaders = []
    for found in ranking.rank(levels, margin=margin, ended=ended) if arms else ():
        arm = arms[found.arm]
        if found.rank is None or found.ratio is None:
            rows[arm] = msgspec.structs.replace(rows[arm], standing="shown", reason=(found.reason or "").rstrip("."))
            continue
        ratio = Estimate(found.ratio, found.low, found.high)
        rows[arm] = msgspec.structs.replace(
            rows[arm], rank=found.rank, ratio=ratio, half_width=found.half_width, verdict=found.verdict
        )
        leaders += [arm] if found.rank == 1 else []
    return Ranking(
        rows=tuple(sorted(rows.values(), key=order)),
        best=leaders[0] if leaders else None,
        also_first=tuple(leaders[1:]),
        unranked_reason="" if leaders else _why_unranked(rows.values()),
    )


def order(row: RankedRow) -> tuple[int, int, float]:
    """Sort key: by rank, and by estimate within a rank; rows without one keep the order of the plan, as if unsorted."""
    return _STANDINGS.index(row.standing), row.rank or 0, row.ratio.value if row.ratio else 0.0


def _why_unranked(rows: Iterable[RankedRow]) -> str:
    """Return why no row of a block has a rank."""
    shown = [row.reason for row in rows if row.standing == "shown"]
    if shown:
        return Counter(shown).most_common(1)[0][0]
    return "no arm gave an answer equal to the reference"


def original(arm: Arm, block: Block) -> str | None:
    """Return the id of the arm that this one repeats.

    Returns none where the arm is no repetition, or the other is not in the block.
    """
    if arm.ordinal == 1:
        return None
    first = msgspec.structs.replace(arm, ordinal=1)
    return first.id if first in block.arms else None


def controls(block: Block, compared: Levels, *, ended: EndedBy) -> tuple[Control, ...]:
    """Compare every arm that occurs twice with itself."""
    found: list[Control] = []
    for arm in block.arms:
        first = original(arm, block)
        if first is None or first not in compared or arm.id not in compared:
            continue
        ratio = estimates.ratio(compared[arm.id], compared[first], ended=ended)
        if ratio is not None:
            found.append(Control(arm=arm.id, of=first, ratio=ratio))
    return tuple(found)
