"""The verdict on a fleet: which node is slow, noisy, wrong, or not like its peers; a pure function of reduced runs."""

import math
from collections.abc import Iterator, Mapping, Sequence

import msgspec
import numpy as np

from levelfield.analysis.summary import Reduced
from levelfield.analysis.types import Estimate
from levelfield.errors import LevelfieldError
from levelfield.report import units
from levelfield.statistics.arrays import Floats, without_missing
from levelfield_fleet import words
from levelfield_fleet.groups import Peers, by_hardware, differences, differs_from
from levelfield_fleet.quorum import Verdicts, verdicts
from levelfield_fleet.statistics import outliers
from levelfield_fleet.statistics.outliers import LEVEL, MARGIN, MOST, Judged
from levelfield_fleet.statistics.peers import FEWEST_PEERS
from levelfield_fleet.table import Entry, Table, collect
from levelfield_fleet.types import (
    Cell,
    Difference,
    Fleet,
    Group,
    Node,
    NodeVerdict,
    ResultFacts,
    WrongAnswer,
)

_ORDER = list(NodeVerdict)


def judge(
    fleet: Mapping[str, Sequence[Reduced]],
    *,
    margin: float = MARGIN,
    level: float = LEVEL,
    reports: Mapping[str, str] | None = None,
) -> Fleet:
    """Judge the nodes of a fleet, each against its peers. Raises LevelfieldError: no node has a run."""
    groups, remarks = by_hardware(fleet)
    if not groups:
        raise LevelfieldError("No node has a run.", fix="Gather the records of the nodes first.")
    tables = [collect(group) for group in groups]
    judged = outliers.judge([table.costs() for table in tables], level=level, margin=margin)
    quorums = [verdicts(group) for group in groups]
    cells: list[Cell] = []
    nodes: list[Node] = []
    of_groups: list[Group] = []
    for group, table, one, agreement in zip(groups, tables, judged, quorums, strict=True):
        own = tuple(cells_of(table, one))
        cells += own
        of_groups.append(Group(group.key, group.title, tuple(group.nodes), facts := facts_of(table, one)))
        blind = all(each.finds is None for each in facts)
        nodes += _nodes(group, groups[0], own, agreement, reports or {}, blind=blind)
        if len(group.nodes) == 2:
            remarks += tuple(filter(None, [words.differences_of_two(own)]))
    nodes.sort(key=lambda node: _ORDER.index(node.verdict))
    return Fleet(
        answer=words.answer(nodes),
        exit_code=words.exit_code(nodes),
        nodes=tuple(nodes),
        groups=tuple(of_groups),
        cells=tuple(cells),
        wrong=tuple(wrong for agreement in quorums for wrong in agreement.wrong),
        notes=(*remarks, *words.notes(groups, of_groups, quorums)),
        method=words.method(margin, level),
        margin=margin,
        level=level,
    )


def _nodes(
    group: Peers,
    largest: Peers,
    cells: Sequence[Cell],
    agreement: Verdicts,
    reports: Mapping[str, str],
    *,
    blind: bool,
) -> Iterator[Node]:
    """Yield the verdict on each node; `blind`: no slowdown of any size can be found among them."""
    different = differences(group)
    of_node: dict[str, list[Cell]] = {name: [] for name in group.nodes}
    for cell in cells:
        of_node[cell.node].append(cell)
    for name, runs in group.nodes.items():
        wrong = [one for one in agreement.wrong if one.node == name]
        otherwise = _not_decided(name, group, largest, of_node[name], agreement)
        if blind and not otherwise:
            otherwise = "nodes and runs are so few, or scatter so much, that no slowdown of any size would be found"
        verdict = _most_serious(of_node[name], wrong, different[name], otherwise)
        yield Node(
            name=name,
            group=group.key,
            verdict=verdict,
            outcome=words.OUTCOMES[verdict],
            reason=words.reason(verdict, of_node[name], wrong, different[name], otherwise),
            runs=tuple(run.facts for run in runs),
            differences=different[name],
            report=reports.get(name, ""),
        )


def _most_serious(
    cells: Sequence[Cell], wrong: Sequence[WrongAnswer], different: Sequence[Difference], otherwise: str
) -> NodeVerdict:
    """Return the most serious of all that is said of a node."""
    said = {cell.verdict for cell in cells} | {NodeVerdict.FINE}
    said |= {NodeVerdict.WRONG} if wrong else set()
    said |= {NodeVerdict.DIFFERENT} if different else set()
    said |= {NodeVerdict.UNDECIDED} if otherwise else set()
    return min(said, key=_ORDER.index)


def _not_decided(name: str, group: Peers, largest: Peers, cells: Sequence[Cell], agreement: Verdicts) -> str:
    """Say why a node as a whole is not decided; empty where it is."""
    if len(group.nodes) <= FEWEST_PEERS:
        other = differs_from(group, largest) if len(largest.nodes) > len(group.nodes) else ""
        return f"{words.few_peers(len(group.nodes) - 1)}{f' ({other})' if other else ''}"
    if not cells:
        return "it has no result"
    varying = next((one for one in agreement.varying if one.node == name), None)
    if varying is not None:
        return (
            f"its launches give {varying.outputs} different answers for {varying.arm} on {varying.question}, where "
            f"{units.plural(varying.peers, 'peer')} give one: test it again"
        )
    if agreement.split:
        return f"no answer to {agreement.split[0]} is that of most peers, and each node always gives the same"
    return ""


def cells_of(table: Table, judged: Judged) -> Iterator[Cell]:
    """Yield the verdict on each node of a group in each result, node by node."""
    expected = _expected(table)
    for row, node in enumerate(table.nodes):
        for column, result in enumerate(table.results):
            entry = table.entries[node, result.id]
            if entry.answers:
                cell = _cell(node, result.id, judged, (row, column), len(entry.answers))
                lost = entry.lost if cell.verdict is NodeVerdict.FINE else ""
                yield msgspec.structs.replace(cell, verdict=NodeVerdict.UNDECIDED, reason=lost) if lost else cell
            elif (without := _without_cost(entry, expected=result.id in expected)) is not None:
                yield Cell(node, result.id, *without)


def facts_of(table: Table, judged: Judged) -> tuple[ResultFacts, ...]:
    """Return what the peers of a group have in common in each result."""
    facts = []
    for column, result in enumerate(table.results):
        levels = without_missing(judged.levels.level[:, column])
        spread, least = judged.levels.spread[column], without_missing(judged.finds[:, column])
        facts.append(
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
    return tuple(facts)


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
        return NodeVerdict.FAILED, entry.failed or entry.lost or "it was not measured"
    why = entry.failed or entry.lost
    return (NodeVerdict.UNDECIDED, f"no more than half of the nodes have one: {why}") if why else None


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
