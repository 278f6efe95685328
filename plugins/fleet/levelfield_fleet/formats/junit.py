"""The verdict on a fleet for CI systems: JUnit XML, one test a node, in which nothing undecided looks like a success.

A node that is slow, wrong or failed is a *failure*; one that is noisy, not like the others or not decided is *skipped*,
and one without a record that can be read is an *error*. A wrong answer is a failure of its own.
"""

from collections.abc import Mapping

from levelfield.compare.formats.junit import Kind, Test, document
from levelfield.compare.types import Outcome
from levelfield_fleet import phrases
from levelfield_fleet.types import Fleet, Node, WrongAnswer

_KINDS: Mapping[Outcome, Kind] = {"worse": "failure", "undecided": "skipped", "aside": "", "fine": ""}


def write(fleet: Fleet) -> str:
    """Return the verdict as JUnit XML; the answer is the name of the whole, on the first line."""
    facts = phrases.facts(fleet)
    striking: dict[str, list[str]] = {}
    for cell in phrases.striking(fleet):
        _, result, verdict, deviation, reason = phrases.cell_cells(cell, facts(cell))
        striking.setdefault(cell.node, []).append(", ".join(filter(None, (f"{result}: {verdict}", deviation, reason))))
    titles = {group.key: group.title for group in fleet.groups}
    suites: dict[str, list[Test]] = {}
    for node in fleet.nodes:
        title = titles.get(node.group) or "nodes without a record"
        suites.setdefault(title, []).append(_of_node(node, striking.get(node.name, [])))
    if fleet.wrong:
        suites["wrong answers"] = [_of_answer(wrong) for wrong in fleet.wrong]
    return document(phrases.first_line(fleet), suites)


def _of_node(node: Node, striking: list[str]) -> Test:
    kind = _KINDS[node.outcome] if node.runs or node.outcome != "undecided" else "error"
    message = "; ".join(filter(None, (f"{node.verdict}: {node.reason}" if node.reason else node.verdict, *striking)))
    return Test(node.name, "fleet.node", kind, node.verdict, message)


def _of_answer(wrong: WrongAnswer) -> Test:
    node, answer, digests = phrases.answer_cells(wrong)
    return Test(f"{node}/{answer}", "fleet.answers", "failure", "computes wrongly", digests)
