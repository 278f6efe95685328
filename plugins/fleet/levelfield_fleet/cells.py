"""One verdict for each node in each result, from what is judged of all of them together."""

import math
from collections.abc import Iterator

import numpy as np

from levelfield.analysis.types import Estimate
from levelfield.report import units
from levelfield.statistics.arrays import Floats, without_missing
from levelfield.statistics.outliers import MOST, Judged
from levelfield.statistics.peers import FEWEST_PEERS
from levelfield_fleet import words
from levelfield_fleet.table import Entry, Table
from levelfield_fleet.types import Cell, NodeVerdict, ResultFacts


def cells(table: Table, judged: Judged) -> Iterator[Cell]:
    """Yield the verdict on each node of a group in each result, node by node."""
    expected = _expected(table)
    for row, node in enumerate(table.nodes):
        for column, result in enumerate(table.results):
            entry = table.entries[node, result.id]
            if entry.answers:
                yield _cell(node, result.id, judged, (row, column), len(entry.answers))
            elif (without := _without_cost(entry, expected=result.id in expected)) is not None:
                yield Cell(node, result.id, *without)


def facts(table: Table, judged: Judged) -> tuple[ResultFacts, ...]:
    """Return what the peers of a group have in common in each result."""
    found = []
    for column, result in enumerate(table.results):
        levels = without_missing(judged.levels.level[:, column])
        spread, least = judged.levels.spread[column], without_missing(judged.finds[:, column])
        found.append(
            ResultFacts(
                result=result.id,
                arm=result.arm,
                case=result.case,
                nodes=levels.size,
                centre=math.exp(np.median(levels)) if levels.size else None,
                spread=float(spread) if levels.size > FEWEST_PEERS else None,
                finds=1 + typical if math.isfinite(typical := _median(least)) else None,
            )
        )
    return tuple(found)


def _median(values: Floats) -> float:
    return float(np.median(values)) if values.size else math.nan


def _expected(table: Table) -> frozenset[str]:
    """Return the results that more than half of the nodes have."""
    having = {
        result.id: sum(bool(table.entries[node, result.id].answers) for node in table.nodes) for result in table.results
    }
    return frozenset(name for name, nodes in having.items() if 2 * nodes > len(table.nodes))


def _without_cost(entry: Entry, *, expected: bool) -> tuple[NodeVerdict, str] | None:
    if entry.aside:
        return NodeVerdict.UNDECIDED, entry.aside
    if expected:
        return NodeVerdict.FAILED, entry.failed or "it was not measured"
    return (NodeVerdict.UNDECIDED, f"it fails on most of its peers too: {entry.failed}") if entry.failed else None


def _cell(node: str, result: str, judged: Judged, at: tuple[int, int], runs: int) -> Cell:
    levels = judged.levels
    deviation, half_width = float(levels.deviation[at]), float(judged.calls.half_width[at])
    scatter = float(judged.launch_scatter[at])
    ratio = None if math.isnan(deviation) else _ratio(deviation, half_width)
    verdict, reason = _verdict(judged, at, ratio)
    return Cell(
        node=node,
        result=result,
        verdict=verdict,
        reason=reason,
        cost=math.exp(levels.level[at]),
        ratio=ratio,
        runs=runs,
        scatter=None if math.isnan(scatter) else scatter,
    )


def _ratio(deviation: float, half_width: float) -> Estimate:
    value = math.exp(deviation)
    if not half_width <= math.log(MOST):
        return Estimate(value)
    return Estimate(value, math.exp(deviation - half_width), math.exp(deviation + half_width))


def _verdict(judged: Judged, at: tuple[int, int], ratio: Estimate | None) -> tuple[NodeVerdict, str]:
    if not judged.levels.tested[at] or ratio is None:
        return NodeVerdict.UNDECIDED, words.few_peers(int(judged.levels.peers[at]))
    if judged.calls.slow[at]:
        return NodeVerdict.SLOW, f"it costs {units.slower(ratio)} more than on its peers"
    if judged.noisy[at]:
        times = f"{judged.times_the_scatter[at]:.1f} times as much"
        return NodeVerdict.NOISY, f"its runs or launches scatter {times} as those of its peers"
    if judged.calls.fast[at]:
        return NodeVerdict.FAST, f"it costs {units.percent(1 - ratio.value)} less than on its peers"
    if judged.calls.odd[at]:
        runs = int(judged.levels.runs[at])
        away = f"{units.percent(abs(ratio.value - 1))} {'more' if ratio.value > 1 else 'less'} than its peers"
        return NodeVerdict.UNDECIDED, f"{away} in {units.plural(runs, 'run')}, which may have been odd: run it again"
    return NodeVerdict.FINE, ""
