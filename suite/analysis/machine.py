"""In which states of the machine a block was measured, and what another state does to its ratios."""

from collections import Counter
from collections.abc import Iterable

import msgspec

from suite.analysis import collect, estimates, ranks
from suite.analysis.collect import ArmSummary
from suite.analysis.launch_levels import Reduction, States
from suite.analysis.states import contended_share, judge, knowledge, levels_of
from suite.analysis.types import BlockStates, Row, WindowsOf
from suite.record.schema import Block, Turn
from suite.statistics.ending import EndedBy

FEWEST_CONTENDED = 2
"""Launches with contended windows of both arms, below which nothing is said of their ratio then."""


def windows_of(block: Block, found: States, arm: str) -> WindowsOf:
    """Return what windows an arm's row is of.

    Parameters
    ----------
    block, found
        A block, and its reductions.
    arm
        Id of one of its arms.
    """
    known = levels_of(block)
    if known is None:
        return ""
    match knowledge(known):
        case "contended throughout":
            return "contended throughout"
        case _ if arm in found.starved:
            return "all"
        case "one state seen":
            return "one state"
        case _:
            return "calm"


def left_out(found: Reduction, summary: ArmSummary) -> tuple[tuple[int, int, int], ...]:
    """Return the windows of an arm that a reduction is not of: generation, round, and number of the attempt."""
    rounds = {generation.index: generation.rounds for generation in found.block.generations}
    return tuple(
        (launch.generation, rounds[launch.generation][window.position[1]].index, window.attempt)
        for launch in summary.launches
        for window in launch.windows
        if not found.selects(window)
    )


def summarise(block: Block, rows: Iterable[Row], best: str | None) -> BlockStates | None:
    """Count the windows of a block by state; None where nothing probed the machine.

    Parameters
    ----------
    block
        A block of the record.
    rows, best
        As they were ranked.
    """
    known = levels_of(block)
    if known is None:
        return None
    states: Counter[str] = Counter()
    firsts: list[Turn] = []
    again = 0
    tried: set[tuple[int, int, str]] = set()
    for generation, round_, turn in collect.turns(block):
        if turn.arm == block.canary or turn.window is None:
            continue
        judged = judge(turn, known)
        states[judged.state if judged is not None else "unknown"] += 1
        key = generation.index, round_.index, turn.arm
        if key in tried:
            again += 1
        else:
            firsts.append(turn)
        tried.add(key)
    return BlockStates(
        knowledge=knowledge(known),
        calm=states["calm"],
        contended=states["contended"],
        unsettled=states["unsettled"],
        unknown=states["unknown"],
        taken_again=again,
        low_share=known.low_share,
        contended_share=contended_share(firsts, known),
        ranks_differ=tuple(row.arm for row in rows if row.arm != best and _is_faster_when_contended(row)),
    )


def with_contended(ranking: "ranks.Ranking[Row]", found: States, ended: EndedBy) -> "ranks.Ranking[Row]":
    """Return a ranking whose rows have their ratio to the leading arm when the machine was contended, beside it.

    Parameters
    ----------
    ranking
        Of a block.
    found
        The block's reductions.
    ended
        What was allowed to end the block.
    """
    best = ranking["best"]
    if found.contended is None or best is None:
        return ranking
    levels = found.contended.compared
    rows = []
    for row in ranking["rows"]:
        both = levels[row.arm].keys() & levels[best].keys()
        if row.rank is not None and row.arm != best and len(both) >= FEWEST_CONTENDED:
            ratio = estimates.ratio(levels[row.arm], levels[best], ended=ended)
            rows.append(msgspec.structs.replace(row, contended=ratio))
        else:
            rows.append(row)
    return ranks.Ranking(
        rows=tuple(rows),
        best=best,
        also_first=ranking["also_first"],
        unranked_reason=ranking["unranked_reason"],
    )


def _is_faster_when_contended(row: Row) -> bool:
    """Return whether an arm that is slower when calm is faster than the leading one when the machine is contended."""
    if row.contended is None or row.contended.high is None:
        return False
    return row.contended.high < 1
