"""The words of a verdict on a fleet: the answer, the notes, and how it was reached."""

from collections import Counter
from collections.abc import Iterator, Sequence

from levelfield.analysis.summary import CANARY
from levelfield.compare import phrases
from levelfield.report import sentences, units
from levelfield_fleet import quorum
from levelfield_fleet.groups import Peers, differs_from
from levelfield_fleet.statistics.outliers import LEVEL, NOISE_SHARE
from levelfield_fleet.statistics.peers import FEWEST_PEERS
from levelfield_fleet.types import Cell, Difference, Group, Node, NodeVerdict, Outcome, WrongAnswer

MOST_NAMED = 3
"""Nodes, or groups, that are named in one sentence."""
LONGEST_REASON = 500
"""Characters of a reason that are shown in the answer."""
LONGEST_NAME = 80
"""Characters of a node's name that are shown in a sentence."""
OUTCOMES: dict[NodeVerdict, Outcome] = {
    NodeVerdict.WRONG: "worse",
    NodeVerdict.FAILED: "worse",
    NodeVerdict.SLOW: "worse",
    NodeVerdict.NOISY: "undecided",
    NodeVerdict.DIFFERENT: "undecided",
    NodeVerdict.FAST: "aside",
    NodeVerdict.UNDECIDED: "undecided",
    NodeVerdict.FINE: "fine",
}


def exit_code(nodes: Sequence[Node]) -> int:
    """Return 1 where a node is slow, wrong or failed, 3 where one is not decided, noisy or different, else 0."""
    outcomes = {node.outcome for node in nodes}
    return 1 if "worse" in outcomes else 3 if "undecided" in outcomes else 0


def answer(nodes: Sequence[Node]) -> str:
    """Say which nodes are not fine, the most serious first."""
    counts = Counter(node.verdict for node in nodes)
    if counts[NodeVerdict.FINE] == len(nodes):
        return f"All {len(nodes)} nodes are fine." if len(nodes) > 1 else "The node is fine."
    parts = []
    for verdict in NodeVerdict:
        named = [node for node in nodes if node.verdict is verdict]
        if named and verdict is not NodeVerdict.FINE:
            parts.append(f"{len(named)} {verdict} ({_names([node.name for node in named])})")
    fine = f"; {counts[NodeVerdict.FINE]} fine" if counts[NodeVerdict.FINE] else ""
    first = nodes[0]
    why = f" {_names([first.name])}: {phrases.clean(first.reason, LONGEST_REASON)}." if first.reason else ""
    return f"Of {units.plural(len(nodes), 'node')}: {', '.join(parts)}{fine}.{why}"


def reason(
    verdict: NodeVerdict,
    cells: Sequence[Cell],
    wrong: Sequence[WrongAnswer],
    differences: Sequence[Difference],
    otherwise: str = "",
) -> str:
    """Say in a phrase why a node has its verdict."""
    with_it = [cell for cell in cells if cell.verdict is verdict]
    match verdict:
        case NodeVerdict.WRONG:
            one = wrong[0]
            where = f"{one.arm} on {one.question}, where {one.peers} of {units.plural(one.of, 'peer')} agree"
            return f"its answer is another one to the last bit: {where}{_more(len(wrong), 'answer')}"
        case NodeVerdict.DIFFERENT:
            return f"{_fact(differences[0])}{_more(len(differences), 'fact')}"
        case NodeVerdict.SLOW | NodeVerdict.FAST:
            also = f"; {_fact(differences[0])}{_more(len(differences), 'fact')}" if differences else ""
            return f"{_most(with_it)}{_canary(cells, with_it)}{also}"
        case NodeVerdict.FINE:
            return ""
        case _:
            if otherwise and verdict is NodeVerdict.UNDECIDED:
                return otherwise
            return f"{with_it[0].result}: {with_it[0].reason}{_more(len(with_it), 'result')}"


def _fact(one: Difference) -> str:
    name, value, majority = map(phrases.value, (f"{one.group}, {one.name}", one.value, one.majority))
    return f"{name} is {value}, and {majority} on {units.percent(one.share)} of its peers"


def _most(cells: Sequence[Cell]) -> str:
    most = max(cells, key=lambda cell: abs(cell.ratio.value - 1) if cell.ratio is not None else 0.0)
    return f"in {units.plural(len(cells), 'result')}, most of all {most.result}: {most.reason}"


def _canary(cells: Sequence[Cell], with_it: Sequence[Cell]) -> str:
    """Say whether the node as a whole is so, by its canary."""
    of_canary = next((cell for cell in cells if cell.result == CANARY), None)
    if of_canary is None or with_it == [of_canary]:
        return ""
    return "; so is its canary" if of_canary in with_it else "; its canary is not"


def _more(count: int, what: str) -> str:
    return f" (and {units.plural(count - 1, f'more {what}')})" if count > 1 else ""


def few_peers(peers: int) -> str:
    number = units.plural(peers, "peer") if peers else "no peer"
    return f"{number} of like hardware, {FEWEST_PEERS} are needed"


def notes(groups: Sequence[Peers], judged: Sequence[Group], quorums: Sequence[quorum.Verdicts]) -> Iterator[str]:
    """Yield the sentences that a reader must know before the numbers."""
    if len(groups) > 1:
        yield f"The nodes are of {len(groups)} kinds of hardware. Nodes are compared within each, and never across."
    for group in groups[1 : 1 + MOST_NAMED]:
        if len(group.nodes) <= FEWEST_PEERS and len(groups[0].nodes) > len(group.nodes):
            other = phrases.clean(differs_from(group, groups[0]))
            yield f"The hardware of {_names(list(group.nodes))} is not that of the largest group: {other}."
    labels = {label for each in groups for runs in each.nodes.values() for run in runs for label in run.facts.labels}
    yield from map(phrases.clean, sentences.labels(sorted(labels)))
    cut = [name for each in groups for name, runs in each.nodes.items() if runs[-1].facts.finished is None]
    if cut:
        yield f"Cut off before the end, so that results may be missing: the newest run of {_names(cut)}."
    for one in judged:
        some = [facts for facts in one.results if 0 < facts.nodes < len(one.nodes)]
        if some:
            first = f"{phrases.clean(some[0].result)} of {some[0].nodes}"
            yield f"{units.plural(len(some), 'result')} {'is' if len(some) == 1 else 'are'} not of all nodes: {first}."
        yield from _finds(one)
    for each in quorums:
        yield from _on_answers(each)


def _names(nodes: Sequence[str]) -> str:
    """`n1, n2 and n3`, or `n1, n2, n3 and 5 more`."""
    named = [phrases.clean(name, LONGEST_NAME) for name in nodes[:MOST_NAMED]]
    return sentences.join(named if len(nodes) <= MOST_NAMED else [*named, f"{len(nodes) - MOST_NAMED} more"])


def _finds(group: Group) -> Iterator[str]:
    least = [each.finds - 1 for each in group.results if each.finds is not None]
    if least:
        span = units.percent_range(min(least), max(least)) if len(least) > 1 else units.percent(least[0])
        yield (
            f"Among {units.plural(len(group.nodes), 'node')} of {phrases.clean(group.title)}, one that is slower by "
            f"{span}, depending on the result, is found with a probability of 95 %."
        )


def _on_answers(answers: quorum.Verdicts) -> Iterator[str]:
    if answers.agreed:
        yield f"Most peers agree to the last bit in {units.plural(answers.agreed, 'answer')}."
    if answers.open:
        such = phrases.clean(answers.open[0])
        yield (
            f"There is no majority for {units.plural(len(answers.open), 'answer')}, such as {such}: nobody is named. "
            "Kernels that add in another order each time make answers so, and images, weights or inputs that differ."
        )


def differences_of_two(cells: Sequence[Cell]) -> str:
    """Say how far two nodes are apart; neither is named."""
    measured = [(cell.ratio.value, cell) for cell in cells if cell.ratio is not None]
    if not measured:
        return ""
    ratio, most = max(measured, key=lambda each: each[0])
    return (
        f"Of two nodes, neither can be called slow: {_names([most.node])} costs {units.percent(ratio - 1)} more than "
        f"the other in {most.result}, which is the largest difference."
    )


def method(margin: float, level: float = LEVEL) -> str:
    """Return a paragraph on how verdicts were reached."""
    rates = units.percent((1 - NOISE_SHARE) * level), units.percent(NOISE_SHARE * level)
    return (
        "A node’s level in a result is the median of its runs. It is compared with the median of the other nodes of "
        "like hardware, in units of their spread (Shamos’s estimator), which is taken to be no smaller than the "
        "scatter of runs explains. A node is slow or fast where the interval excludes no change and the deviation is "
        f"larger than {units.percent(margin)}. Intervals hold together: where no node differs, the probability that "
        f"any node is called slow or fast in any result is at most {rates[0]}, and that any is called noisy "
        f"{rates[1]} (Bonferroni), for nodes that differ normally and runs with tails up to those of Student’s t with "
        "3 degrees of freedom. Levels are absolute. The canary is a result of its own: it is a fixed computation, and "
        "where it is slow too, the node as a whole is. Answers are compared to the last bit with those of most peers "
        "that have the same image."
    )
