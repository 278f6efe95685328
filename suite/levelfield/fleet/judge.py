"""The verdict on a fleet: which node is slow, noisy, wrong, or not like its peers; a pure function of reduced runs."""

from collections.abc import Iterator, Mapping, Sequence

from levelfield.analysis.summary import Reduced
from levelfield.errors import LevelfieldError
from levelfield.fleet import cells as of_cells
from levelfield.fleet import words
from levelfield.fleet.differs import differences
from levelfield.fleet.groups import Peers, by_hardware, differs_from
from levelfield.fleet.quorum import Verdicts, verdicts
from levelfield.fleet.table import collect
from levelfield.fleet.types import Cell, Difference, Fleet, Group, Node, NodeVerdict, WrongAnswer
from levelfield.report import units
from levelfield.statistics import outliers
from levelfield.statistics.outliers import LEVEL, MARGIN
from levelfield.statistics.peers import FEWEST_PEERS

_ORDER = list(NodeVerdict)


def judge(
    fleet: Mapping[str, Sequence[Reduced]],
    *,
    margin: float = MARGIN,
    level: float = LEVEL,
    reports: Mapping[str, str] | None = None,
) -> Fleet:
    """Judge the nodes of a fleet, each against its peers.

    Raises LevelfieldError: no node has a run.
    """
    groups, remarks = by_hardware(fleet)
    if not groups:
        raise LevelfieldError("No node has a run.", fix="Gather the records of the nodes first.")
    tables = [collect(group) for group in groups]
    judged = outliers.judge([table.costs() for table in tables], level=level, margin=margin)
    quorums = [verdicts(group) for group in groups]
    cells: list[Cell] = []
    nodes: list[Node] = []
    found: list[Group] = []
    for group, table, one, agreement in zip(groups, tables, judged, quorums, strict=True):
        own = tuple(of_cells.cells(table, one))
        cells += own
        found.append(Group(group.key, group.title, tuple(group.nodes), of_cells.facts(table, one)))
        nodes += _nodes(group, groups[0], own, agreement, reports or {})
        if len(group.nodes) == 2:
            remarks += tuple(filter(None, [words.differences_of_two(own)]))
    nodes.sort(key=lambda node: _ORDER.index(node.verdict))
    return Fleet(
        answer=words.answer(nodes),
        exit_code=words.exit_code(nodes),
        nodes=tuple(nodes),
        groups=tuple(found),
        cells=tuple(cells),
        wrong=tuple(wrong for agreement in quorums for wrong in agreement.wrong),
        notes=(*remarks, *words.notes(groups, found, quorums)),
        method=words.method(margin, level),
        margin=margin,
        level=level,
    )


def _nodes(
    group: Peers, largest: Peers, cells: Sequence[Cell], agreement: Verdicts, reports: Mapping[str, str]
) -> Iterator[Node]:
    different = differences(group)
    of_node: dict[str, list[Cell]] = {name: [] for name in group.nodes}
    for cell in cells:
        of_node[cell.node].append(cell)
    for name, runs in group.nodes.items():
        wrong = [one for one in agreement.wrong if one.node == name]
        otherwise = _not_decided(name, group, largest, of_node[name], agreement)
        verdict = _verdict(of_node[name], wrong, different[name], otherwise)
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


def _verdict(
    cells: Sequence[Cell], wrong: Sequence[WrongAnswer], different: Sequence[Difference], otherwise: str
) -> NodeVerdict:
    """Return the most serious of all that is said of a node."""
    found = {cell.verdict for cell in cells} | {NodeVerdict.FINE}
    found |= {NodeVerdict.WRONG} if wrong else set()
    found |= {NodeVerdict.DIFFERENT} if different else set()
    found |= {NodeVerdict.UNDECIDED} if otherwise else set()
    return min(found, key=_ORDER.index)


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
    return ""
