"""Relation of an arm to the best of its block, in one of three words, which every output takes from here.

equal
    The interval of their ratio lies inside the margin: what difference there may be does not matter.
not separated
    The interval lies neither inside the margin nor apart from no difference: it is always shown with the word.
faster
    The interval excludes no difference: the best is faster.
"""

import enum

from levelfield.analysis.types import RankedBlock, RankedRow
from levelfield.statistics.verdicts import Verdict

IN_THESE_MINUTES = "in these minutes"
"""Note on the interval of one arm's own time: it holds for the run, not for another hour. Only ratios travel."""


class Relation(enum.StrEnum):
    """Relation of the best arm to another one."""

    EQUAL = "equal"
    NOT_SEPARATED = "not separated"
    FASTER = "faster"


_RELATIONS = {
    Verdict.SAME: Relation.EQUAL,
    Verdict.INCONCLUSIVE: Relation.NOT_SEPARATED,
    Verdict.SLOWER: Relation.FASTER,
}


def relation(row: RankedRow) -> Relation | None:
    """Return the relation of the best arm to this one; None where that is not known."""
    return _RELATIONS.get(row.verdict) if row.verdict is not None else None


def best_is(row: RankedRow, block: RankedBlock) -> str:
    """Return the cell of a row under "best is": the relation of the best to it.

    Returns one of the words above; empty for the best itself and for rows without a rank.
    """
    known = relation(row)
    return known.value if known is not None and row.arm != block.best else ""


def crossed(block: RankedBlock) -> tuple[RankedRow, RankedRow] | None:
    """Return two arms of which the first is not shown to be slower where the second is, though its estimate is worse.

    That is so where the first has the better rank, or is not separated from the best while the second is.

    Returns the pair whose estimates are furthest apart; None where estimates agree with ranks and relations.
    """
    rows = [(row.ratio.value, row) for row in block.rows if row.ratio is not None and row.rank is not None]
    pairs = [
        (one - other, wide, slower)
        for one, wide in rows
        for other, slower in rows
        if one > other and slower.arm != block.best and _before(wide, slower)
    ]
    if not pairs:
        return None
    _, wide, slower = max(pairs, key=lambda pair: pair[0])
    return wide, slower


def _before(wide: RankedRow, slower: RankedRow) -> bool:
    apart = relation(slower) is Relation.FASTER and relation(wide) in (Relation.EQUAL, Relation.NOT_SEPARATED)
    return apart or (wide.rank or 0) < (slower.rank or 0)
