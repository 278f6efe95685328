"""In which state of the machine a case was measured, and what another state would do, in words."""

import math

from suite.analysis.types import BlockStates, Estimate, RankedRow, Row, TimedBlock
from suite.report import sentences, units

SHOWN = 0.05
"""A ratio that contention changes by less is not named in the sentence; its column has it."""


def sentence(block: TimedBlock) -> str:
    """Say in which state of the machine a case was measured, and what contention does to it; empty: nothing probed it.

    `Measured while the machine was calm: 112 of 161 windows. The machine was contended 31 % of the time; then torch
    takes 2.20× the time of openvino, not 1.70×.`

    Parameters
    ----------
    block
        A case with its rows.
    """
    states = block.states
    if states is None:
        return ""
    parts = [_where(states), _starved(block), _contended(block, states), _differ(block, states)]
    return " ".join(filter(None, parts))


def contended(row: RankedRow) -> str:
    """Return the cell of a row for its ratio when the machine was contended: `2.20× (2.02–2.40)`; empty: none is known.

    Parameters
    ----------
    row
        Of a case that is timed in windows; other rows have none.
    """
    return units.times(row.contended) if isinstance(row, Row) and row.contended is not None else ""


def has_contended(block: TimedBlock) -> bool:
    """Return whether any row of a case has a ratio when contended."""
    return any(row.contended is not None for row in block.rows)


def not_calm(row: Row) -> str:
    """Return the windows that were left out since the machine was not calm, as the page's script reads them."""
    return " ".join(f"{generation}:{round_}:{attempt}" for generation, round_, attempt in row.not_calm)


def _where(states: BlockStates) -> str:
    windows = states.calm + states.contended + states.unsettled + states.unknown
    match states.knowledge:
        case "contended throughout":
            return (
                f"Contended throughout: too few probes of the machine were calm, so all {units.count(windows)} windows "
                "are used, whatever its state."
            )
        case "one state seen":
            return (
                f"Measured in the one state of the machine that was seen ({states.calm} of {windows} windows): whether "
                "it was calm is not known."
            )
        case "two states seen":
            if not states.calm:
                return f"None of {units.plural(windows, 'window')} was calm from before to after, so all are used."
            again = f", {units.count(states.taken_again)} of them taken again" if states.taken_again else ""
            return f"Measured while the machine was calm: {states.calm} of {units.plural(windows, 'window')}{again}."


def _starved(block: TimedBlock) -> str:
    arms = [row.arm for row in block.rows if row.windows_of == "all" and row.median_ns is not None]
    if not arms or (block.states is not None and not block.states.calm):
        return ""
    was, figures = ("was", "its") if len(arms) == 1 else ("were", "their")
    return (
        f"{sentences.join(arms)} {was} not measured in the calm state in enough launches: {figures} figures are of all "
        "windows, and so are the ratios to the best."
    )


def _contended(block: TimedBlock, states: BlockStates) -> str:
    share = states.contended_share
    if not share or states.knowledge != "two states seen":
        return ""
    busy = f"The machine was contended {units.percent(share)} of the time"
    changed = [row for row in block.rows if _change(row) > SHOWN]
    if not changed:
        return f"{busy}."
    row = max(changed, key=_change)
    ratio, when_calm = _multiple(row.contended), _multiple(row.ratio)
    return f"{busy}; then {row.arm} takes {ratio} the time of {block.best}, not {when_calm}."


def _change(row: Row) -> float:
    if row.contended is None or row.ratio is None:
        return 0.0
    return abs(math.log(row.contended.value / row.ratio.value))


def _multiple(ratio: Estimate | None) -> str:
    return units.times(Estimate(ratio.value)) if ratio is not None else units.NO_VALUE


def _differ(block: TimedBlock, states: BlockStates) -> str:
    if not states.ranks_differ:
        return ""
    arms = sentences.join(list(states.ranks_differ))
    is_are = "is" if len(states.ranks_differ) == 1 else "are"
    return f"When a neighbour is busy, {arms} {is_are} faster than {block.best}."
