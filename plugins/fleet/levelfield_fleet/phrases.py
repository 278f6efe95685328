"""Phrases that every format of a fleet shares; those of a single case come from `compare.phrases`."""

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType

import msgspec

from levelfield.analysis.types import Estimate
from levelfield.compare.phrases import clean, cost, factor, in_words, value
from levelfield.report import units
from levelfield.report.markdown import interval
from levelfield_fleet.types import Cell, Difference, Fleet, Group, Node, NodeVerdict, ResultFacts, WrongAnswer

SIGNS: Mapping[NodeVerdict, str] = MappingProxyType(
    {
        NodeVerdict.WRONG: "≠",
        NodeVerdict.FAILED: "✗",
        NodeVerdict.SLOW: "▲",
        NodeVerdict.NOISY: "≈",
        NodeVerdict.DIFFERENT: "◆",
        NodeVerdict.FAST: "▼",
        NodeVerdict.UNDECIDED: "?",
        NodeVerdict.FINE: "·",
    }
)
"""A sign for each verdict, so that no colour is needed to tell them apart."""
NO_CELL = "–"
"""Shown where a node has no result and its peers have none that is missing."""
MOST_NAMED = 8
"""Nodes that are named in one cell of a table; the others are counted."""
_DIGEST = 12


class Shared(msgspec.Struct, frozen=True):
    """A fact that one node or several have, and most of their peers do not."""

    fact: Difference
    nodes: tuple[str, ...]


def counted(fleet: Fleet) -> dict[NodeVerdict, int]:
    """Return how many nodes have each verdict, the most serious first; without those that none has."""
    counts = Counter(node.verdict for node in fleet.nodes)
    return {verdict: counts[verdict] for verdict in NodeVerdict if counts[verdict]}


def not_fine(fleet: Fleet) -> tuple[Node, ...]:
    """Return the nodes that are not fine, the most serious first."""
    return tuple(node for node in fleet.nodes if node.verdict is not NodeVerdict.FINE)


def striking(fleet: Fleet) -> tuple[Cell, ...]:
    """Return the cells with something to be said, those of the most serious nodes first."""
    place = {node.name: number for number, node in enumerate(fleet.nodes)}
    order = list(NodeVerdict)
    found = [cell for cell in fleet.cells if cell.verdict not in (NodeVerdict.FINE, NodeVerdict.UNDECIDED)]
    return tuple(sorted(found, key=lambda cell: (place.get(cell.node, len(place)), order.index(cell.verdict))))


def shared(fleet: Fleet) -> tuple[Shared, ...]:
    """Return what differs, each fact once with the nodes that have it: the fact of the most nodes first."""
    found: dict[Difference, list[str]] = {}
    for node in fleet.nodes:
        for fact in node.differences:
            found.setdefault(fact, []).append(node.name)
    return tuple(Shared(fact, tuple(nodes)) for fact, nodes in sorted(found.items(), key=lambda item: -len(item[1])))


def facts(fleet: Fleet) -> Callable[[Cell], ResultFacts | None]:
    """Return what looks up the facts of a cell's case over the peers of its node; None where there are none."""
    group_of = {node.name: node.group for node in fleet.nodes}
    found = {(group.key, each.result): each for group in fleet.groups for each in group.results}
    return lambda cell: found.get((group_of.get(cell.node, ""), cell.result))


def deviation(cell: Cell, of_result: ResultFacts | None) -> str:
    """Return how far a node lies from its peers: `12 % slower (9.8–14 %)`.

    `of_result`: the facts of its case; None: they are not known, and the ratio is written as a number.
    """
    if cell.ratio is None:
        return ""
    if of_result is None:
        return ratio(cell.ratio)
    return in_words(cell.ratio, of_result.case.scenario)


def ratio(found: Estimate | None) -> str:
    """`1.031 (1.012–1.050)`, or nothing known."""
    return units.NO_VALUE if found is None else interval(found.value, found.low, found.high, factor)


def in_a_cell(cell: Cell) -> str:
    """Return what a heat map shows of a cell: its sign, and by how many percent where it is slow or fast."""
    sign = SIGNS[cell.verdict]
    if cell.ratio is None or cell.verdict not in (NodeVerdict.SLOW, NodeVerdict.FAST):
        return sign
    return f"{sign}{units.NBSP}{percent(cell.ratio)}"


def percent(found: Estimate) -> str:
    """`12`: by how many percent a ratio is not 1, for a narrow column."""
    share = abs(found.value - 1)
    return ">999" if share >= 10 or not math.isfinite(share) else f"{100 * share:.0f}"


def node(name: str) -> str:
    """Return a node's name as it is shown."""
    return clean(name, 80)


def nodes(names: Iterable[str]) -> str:
    """`node-3, node-7 and 40 more`."""
    every = [node(name) for name in names]
    more = f" and {len(every) - MOST_NAMED} more" if len(every) > MOST_NAMED else ""
    return ", ".join(every[:MOST_NAMED]) + more


def node_cells(found: Node) -> tuple[str, str, str, str]:
    """Return the texts of a node: its name, its verdict, its runs, and why."""
    return node(found.name), found.verdict.value, units.count(len(found.runs)), clean(found.reason)


def cell_cells(found: Cell, of_result: ResultFacts | None) -> tuple[str, str, str, str, str]:
    """Return the texts of a cell: its node, its result, its verdict, its deviation, and why."""
    return (
        node(found.node), clean(found.result), found.verdict.value, deviation(found, of_result), clean(found.reason)
    )  # fmt: skip


def result_cells(found: ResultFacts) -> tuple[str, str, str, str, str]:
    """Return the texts of a case over its peers: its result, nodes, typical cost, spread, and what is found."""
    return (
        clean(found.result),
        units.count(found.nodes),
        cost(found.centre, found.case.scenario),
        units.NO_VALUE if found.spread is None else units.percent(found.spread),
        finds(found),
    )


def finds(found: ResultFacts) -> str:
    """`5.1 %`: the smallest slowdown of one node that is found; the sign of a missing value for too few peers."""
    return units.NO_VALUE if found.finds is None else units.percent(found.finds - 1)


def fact_cells(found: Shared) -> tuple[str, str, str, str, str]:
    """Return the texts of what differs: where, what, the value, that of most peers with their share, and the nodes."""
    fact = found.fact
    majority = f"{value(fact.majority)} ({units.percent(fact.share)} of the peers)"
    return clean(fact.group), clean(fact.name), value(fact.value), majority, nodes(found.nodes)


def answer_cells(found: WrongAnswer) -> tuple[str, str, str]:
    """Return the texts of a wrong answer: node, arm and question, and both digests."""
    return (
        node(found.node),
        clean(f"{found.arm}/{found.question}"),
        f"{clean(found.digest[:_DIGEST])} ({found.peers} of {found.of} peers: {clean(found.majority[:_DIGEST])})",
    )


def group_title(found: Group) -> str:
    """`12 nodes: AMD EPYC (family 26…), 64 cores, 512 GiB`."""
    return f"{units.plural(len(found.nodes), 'node')}: {clean(found.title)}"


def first_line(fleet: Fleet) -> str:
    """Return the answer on one line."""
    return clean(fleet.answer, 1000)
