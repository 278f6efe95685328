"""The texts that every format of a fleet shows, table by table; those of a single case come from `compare.phrases`."""

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import NamedTuple

from levelfield.compare.phrases import clean, cost, factor, in_words, value
from levelfield.report import units
from levelfield_fleet.types import Cell, Difference, Fleet, Group, Node, NodeVerdict, ResultFacts, WrongAnswer

SIGNS: Mapping[NodeVerdict, str] = MappingProxyType(dict(zip(NodeVerdict, "≠✗▲≈◆▼?·", strict=True)))
"""A sign for each verdict, so that no colour is needed to tell them apart."""
NO_CELL = "–"
"""Shown where a node has no result and its peers have none that is missing."""
MOST_NAMED = 8
"""Nodes that are named in one cell of a table; the others are counted."""
_DIGEST = 12


class Section(NamedTuple):
    title: str
    caption: str
    headings: tuple[str, ...]
    """That of a column of numbers ends in a colon."""
    rows: tuple[tuple[str, ...], ...]
    """A verdict stands in the column of that heading, as it is called."""


def nodes_that_are_not_fine(fleet: Fleet) -> Section:
    """Return the nodes that are not fine, the most serious first."""
    return Section(
        "Nodes that are not fine",
        "The most serious first. A name leads to the node’s own report, where there is one beside its record.",
        ("node", "verdict", "runs:", "why"),
        tuple(
            (node(one.name), one.verdict.value, units.count(len(one.runs)), clean(one.reason))
            for one in fleet.nodes
            if one.verdict is not NodeVerdict.FINE
        ),
    )


def case_by_case(fleet: Fleet) -> Section:
    """Return the cells with something to be said, those of the most serious nodes first."""
    facts = facts_of(fleet)
    return Section(
        "Case by case",
        "A node against the centre of its peers. The intervals hold for all nodes and cases at once.",
        ("node", "case", "verdict", "how much", "why"),
        tuple(
            (node(cell.node), clean(cell.result), cell.verdict.value, deviation(cell, facts(cell)), clean(cell.reason))
            for cell in striking(fleet)
        ),
    )


def wrong_answers(fleet: Fleet) -> Section:
    """Return the answers that are not those of most peers."""
    return Section(
        "Wrong answers",
        "Outputs that are not those of the majority of like nodes, to the last bit: what is often called silent data "
        "corruption.",
        ("node", "answer", "digest"),
        tuple(map(answer_cells, fleet.wrong)),
    )


def what_differs(fleet: Fleet) -> Section:
    """Return what differs, each fact once with the nodes that have it: the fact of the most nodes first."""
    nodes_of: dict[Difference, list[str]] = {}
    for one in fleet.nodes:
        for fact in one.differences:
            nodes_of.setdefault(fact, []).append(one.name)
    return Section(
        "What differs",
        "Facts that are not those of most nodes of like hardware.",
        ("where", "what", "value", "most peers", "nodes"),
        tuple(
            (
                *(clean(fact.group), clean(fact.name), value(fact.value)),
                f"{value(fact.majority)} ({units.percent(fact.share)} of the peers)",
                nodes(names),
            )
            for fact, names in sorted(nodes_of.items(), key=lambda item: -len(item[1]))
        ),
    )


def of_group(group: Group) -> Section:
    """Return the cases of a group, over all its nodes."""
    return Section(
        group_title(group),
        "Spread is between peers; a slowdown of one node as large as the last column says is found with a probability "
        "of 95 %.",
        ("case", "nodes:", "typical:", "spread:", "finds:"),
        tuple(map(result_cells, group.results)),
    )


def sections(fleet: Fleet) -> Iterator[Section]:
    main = nodes_that_are_not_fine(fleet), case_by_case(fleet), wrong_answers(fleet), what_differs(fleet)
    yield from (section for section in (*main, *map(of_group, fleet.groups)) if section.rows)


def counted(fleet: Fleet) -> dict[NodeVerdict, int]:
    """Return how many nodes have each verdict, the most serious first; without those that none has."""
    counts = Counter(node.verdict for node in fleet.nodes)
    return {verdict: counts[verdict] for verdict in NodeVerdict if counts[verdict]}


def striking(fleet: Fleet) -> tuple[Cell, ...]:
    """Return the cells with something to be said, those of the most serious nodes first."""
    place = {node.name: number for number, node in enumerate(fleet.nodes)}
    order = list(NodeVerdict)
    cells = [cell for cell in fleet.cells if cell.verdict not in (NodeVerdict.FINE, NodeVerdict.UNDECIDED)]
    return tuple(sorted(cells, key=lambda cell: (place.get(cell.node, len(place)), order.index(cell.verdict))))


def facts_of(fleet: Fleet) -> Callable[[Cell], ResultFacts | None]:
    """Return what looks up the facts of a cell's case over the peers of its node; None where there are none."""
    group_of = {node.name: node.group for node in fleet.nodes}
    facts = {(group.key, result.result): result for group in fleet.groups for result in group.results}
    return lambda cell: facts.get((group_of.get(cell.node, ""), cell.result))


def deviation(cell: Cell, facts: ResultFacts | None) -> str:
    """Return how far a node lies from its peers: `12 % slower (9.8–14 %)`, or a ratio where its case is not known."""
    if cell.ratio is None:
        return ""
    if facts is None:
        return units.within(cell.ratio, factor)
    return in_words(cell.ratio, facts.case.scenario)


def in_a_cell(cell: Cell) -> str:
    """Return what a heat map shows of a cell: its sign, and by how many percent where it is slow or fast."""
    sign = SIGNS[cell.verdict]
    if cell.ratio is None or cell.verdict not in (NodeVerdict.SLOW, NodeVerdict.FAST):
        return sign
    share = abs(cell.ratio.value - 1)
    return f"{sign}{units.NBSP}{'>999' if share >= 10 or not math.isfinite(share) else f'{100 * share:.0f}'}"


def node(name: str) -> str:
    return clean(name, 80)


def nodes(names: Iterable[str]) -> str:
    """`node-3, node-7 and 40 more`."""
    shown = [node(name) for name in names]
    more = f" and {len(shown) - MOST_NAMED} more" if len(shown) > MOST_NAMED else ""
    return ", ".join(shown[:MOST_NAMED]) + more


def answer_cells(wrong: WrongAnswer) -> tuple[str, str, str]:
    """Return the texts of a wrong answer: node, arm and question, and both digests."""
    return (
        node(wrong.node),
        clean(f"{wrong.arm}/{wrong.question}"),
        f"{clean(wrong.digest[:_DIGEST])} ({wrong.peers} of {wrong.of} peers: {clean(wrong.majority[:_DIGEST])})",
    )


def result_cells(facts: ResultFacts) -> tuple[str, str, str, str, str]:
    """Return the texts of a case over its peers: its result, nodes, typical cost, spread, and what is found."""
    return (
        clean(facts.result),
        units.count(facts.nodes),
        cost(facts.centre, facts.case.scenario),
        units.NO_VALUE if facts.spread is None else units.percent(facts.spread),
        units.NO_VALUE if facts.finds is None else units.percent(facts.finds - 1),
    )


def group_title(group: Group) -> str:
    """`12 nodes: AMD EPYC (family 26…), 64 cores, 512 GiB`."""
    return f"{units.plural(len(group.nodes), 'node')}: {clean(group.title)}"


def first_line(fleet: Fleet) -> str:
    """Return the answer on one line."""
    return clean(fleet.answer, 1000)


def named(one: Node) -> str:
    """Return a verdict with its reason, where there is one."""
    return f"{one.verdict}: {one.reason}" if one.reason else one.verdict
