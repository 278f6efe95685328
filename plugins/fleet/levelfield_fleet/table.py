"""The costs of the nodes of a group: nodes × runs × results, and why a node has none."""

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TypeAlias

import msgspec
import numpy as np

from levelfield.analysis.ranks import NO_FAULT_OF_AN_ARM
from levelfield.analysis.status import SMOKE
from levelfield.analysis.summary import CANARY, Answer, Reduced
from levelfield.compare.sides import NOT_MEASURED, CaseResults, first_reason, reason_for_failure
from levelfield.record.schema import Case
from levelfield_fleet.groups import Peers
from levelfield_fleet.statistics.outliers import Costs

MOST_RUNS = 50
"""Runs of a node that are looked at, the newest ones."""
MOST_LAUNCHES = 12
"""Launches of a run whose scatter is looked at: more tell little more, and take memory by the square."""

Signature: TypeAlias = tuple[tuple[str, frozenset[str]], ...]
"""What was asked, beyond the case: each part with its words."""

_PARTS: tuple[tuple[str, Callable[[Reduced, Answer], frozenset[str]]], ...] = (
    ("what the timed region includes is", lambda run, _: frozenset({run.timed_region})),
    ("the launcher of its workers is", lambda run, _: frozenset({run.launcher})),
    ("the target accuracy is", lambda _, answer: answer.target),
    ("the latency target is", lambda _, answer: answer.latency_target),
    ("its inputs are", lambda _, answer: answer.inputs),
    ("its weights are", lambda _, answer: answer.weights),
)


class Result(msgspec.Struct, frozen=True):
    id: str
    """`onnxruntime/resnet50/latency/fp32/b1/t2/cpu`, or `canary`."""
    arm: str
    case: Case


class Entry(msgspec.Struct, frozen=True):
    answers: tuple[Answer, ...] = ()
    """With a cost that can be compared, one per run."""
    failed: str = ""
    """Why it has none, where it should have one."""
    aside: str = ""
    """Why its costs are not compared."""
    lost: str = ""
    """What was to be measured, and was not, in some of its runs or in all."""


class Table(msgspec.Struct, frozen=True):
    group: Peers
    results: tuple[Result, ...]
    entries: dict[tuple[str, str], Entry]
    """By node and result id."""

    @property
    def nodes(self) -> tuple[str, ...]:
        return tuple(self.group.nodes)

    def costs(self) -> Costs:
        """Return the costs that are compared, on the log scale."""
        runs = max((len(each.answers) for each in self.entries.values()), default=0) or 1
        shape = (len(self.nodes), runs, MOST_LAUNCHES, len(self.results))
        launches = np.full(shape, np.nan)
        of_runs = np.full((shape[0], runs, shape[3]), np.nan)
        for row, node in enumerate(self.nodes):
            for column, result in enumerate(self.results):
                for number, answer in enumerate(self.entries[node, result.id].answers):
                    of_runs[row, number, column] = math.log(answer.cost or math.nan)
                    each = [math.log(cost) for cost in answer.launch_costs[:MOST_LAUNCHES] if 0 < cost < math.inf]
                    launches[row, number, : len(each), column] = each
        return Costs(of_runs, launches)


def collect(group: Peers) -> Table:
    results: dict[str, Result] = {}
    given: dict[str, dict[str, list[tuple[Reduced, Answer]]]] = {}
    for node, runs in group.nodes.items():
        for run in runs[-MOST_RUNS:]:
            for result, answer in _answers(run):
                results.setdefault(result.id, result)
                given.setdefault(result.id, {}).setdefault(node, []).append((run, answer))
    kept: list[Result] = []
    entries: dict[tuple[str, str], Entry] = {}
    for name in sorted(results):
        of_nodes = {node: given[name].get(node, []) for node in group.nodes}
        usual = _usual(of_nodes.values())
        found = {node: _entry(each, usual, len(group.nodes[node])) for node, each in of_nodes.items()}
        if any(each != Entry() for each in found.values()):
            kept.append(results[name])
            entries |= {(node, name): each for node, each in found.items()}
    return Table(group, tuple(kept), entries)


def _answers(run: Reduced) -> Iterator[tuple[Result, Answer]]:
    for (arm, case), answer in run.answers.items():
        yield Result(f"{arm}/{case}", arm, run.cases[case]), answer
    if run.canary is not None:
        threads = max((case.threads * case.processes for case in run.cases.values()), default=1)
        yield Result(CANARY, CANARY, Case(CANARY, "latency", "fp32", 1, threads)), run.canary


def _usual(of_nodes: Iterable[Sequence[tuple[Reduced, Answer]]]) -> Signature:
    """Return what most nodes were asked."""
    counts = Counter(asked for each in of_nodes for asked in {_signature(*one) for one in each if one[1].cost})
    return counts.most_common(1)[0][0] if counts else ()


def _signature(run: Reduced, answer: Answer) -> Signature:
    return tuple((words, pick(run, answer)) for words, pick in _PARTS)


def _entry(given: Sequence[tuple[Reduced, Answer]], usual: Signature, runs: int) -> Entry:
    answers = CaseResults(runs, tuple(answer for _, answer in given))
    if unequal := answers.with_standing("unequal"):
        return Entry(failed=first_reason(unequal) or "its answer is not equal to the reference")
    failed = answers.with_standing("failed")
    if failed and not (answers.trusted and all(answer.failure in NO_FAULT_OF_AN_ARM for answer in failed)):
        return Entry(failed=reason_for_failure(answers))
    trusted = [(run, answer) for run, answer in given if CaseResults(1, (answer,)).trusted]
    unmeasured = [each for each in answers.with_standing("absent") if each.failure is None]
    lost = next((answer.lacking for _, answer in given if answer.lacking), "")
    if unmeasured:
        lost = f"{first_reason(unmeasured)} (in {len(unmeasured)} of {runs} runs)"
    if not trusted:
        return Entry(lost=lost)
    if any(SMOKE in run.facts.labels for run, _ in trusted):
        return Entry(aside=NOT_MEASURED)
    alike = [answer for run, answer in trusted if _signature(run, answer) == usual]
    others = [signature for each in trusted if (signature := _signature(*each)) != usual]
    if not others:
        return Entry(answers=tuple(alike), lost=lost)
    other = next(words for (words, mine), (_, theirs) in zip(others[-1], usual, strict=True) if mine != theirs)
    why = f"{other} not what most of its peers have"
    return Entry(answers=tuple(alike), lost=f"{why} (in {len(others)} of {runs} runs)") if alike else Entry(aside=why)
