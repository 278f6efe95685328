"""Did a roll-out hurt, and where: the same nodes before and after it.

A node is compared with itself, so that what tells one node from another cancels: each gives one log ratio a case, of
its runs after the roll-out over those before. The nodes are the replicates, and the common change is the mean of their
log ratios with its t interval, all cases judged together (`compare.policy`). A node whose ratio is not like
those of the others is found as one whose cost is not (`statistics.outliers`), and has a row of its own. So has
one on which a case fails that did not before.
"""

import math
from collections.abc import Iterator, Sequence
from typing import TypeAlias

import msgspec
import numpy as np

from levelfield.analysis.status import SMOKE
from levelfield.analysis.summary import Reduced
from levelfield.analysis.types import Estimate
from levelfield.compare import changes, comparison, conclusion, drift, sides
from levelfield.compare.effects import MIN_RUNS, from_pairs
from levelfield.compare.policy import change_policy, of_metric
from levelfield.compare.rows import Draft, in_order, judge_rows
from levelfield.compare.sides import CaseResults, Pair
from levelfield.compare.types import Comparison, Gate, Outcome, Row, Side, Verdict
from levelfield.errors import LevelfieldError
from levelfield.record.schema import Case
from levelfield.report import units
from levelfield.statistics import verdicts
from levelfield.statistics.arrays import Floats
from levelfield.statistics.student import mean_of
from levelfield_fleet.gather import Gathered
from levelfield_fleet.phrases import nodes as named
from levelfield_fleet.statistics import outliers
from levelfield_fleet.statistics.peers import FEWEST_PEERS


class _Node(msgspec.Struct, frozen=True):
    """One node before and after."""

    name: str
    old: tuple[Reduced, ...]
    new: tuple[Reduced, ...]

    def results(self, arms: Pair, case: str) -> tuple[CaseResults, CaseResults]:
        """Return the answers to a case, before and after."""
        sides = zip(arms, (self.old, self.new), strict=True)
        both = [
            CaseResults(len(runs), tuple(run.answers[arm, case] for run in runs if (arm, case) in run.answers))
            for arm, runs in sides
        ]
        return both[0], both[1]


_LOST: tuple[Verdict, Outcome, str] = Verdict.MISSING, "undecided", "no run of it before and after on one hardware"
"""Of a node that may be what the roll-out broke."""
_Costs: TypeAlias = tuple[Sequence[float], Sequence[float]]
"""Of the runs of one node, before and after."""


class _Measured(msgspec.Struct, frozen=True):
    """One case of the nodes that have costs before and after."""

    case: Case
    arms: Pair
    costs: dict[str, _Costs]
    """By node."""


def compare(old: Gathered, new: Gathered, *, gate: Gate, level: float) -> Comparison:
    """Compare the same nodes before and after a roll-out.

    Raises LevelfieldError: no node has a record in both, a run is in both, or the nodes have no case in common.
    """
    both = [_Node(name, runs, new.nodes[name]) for name, runs in old.nodes.items() if runs and new.nodes.get(name)]
    if not both:
        raise LevelfieldError(
            "The two folders have no node in common of which both hold a record.",
            fix="Nodes are paired by the names of their folders: name them alike.",
        )
    if repeated := _ids(old) & _ids(new):
        raise LevelfieldError(
            f"{units.plural(len(repeated), 'run')} of the old folder {'is' if len(repeated) == 1 else 'are'} also in "
            "the new one.",
            fix="Gather the runs before and after the roll-out into two folders: no run is of both.",
        )
    sides.check_measured_once([run for side in (old, new) for runs in side.nodes.values() for run in runs])
    other = {node.name for node in both if changes.have_same_hardware((*node.old, *node.new)) is not True}
    nodes = [node for node in both if node.name not in other]
    before = [run for node in nodes for run in node.old]
    after = [run for node in nodes for run in node.new]
    pairs = sides.pair_arms(
        *({name: arm for run in side for name, arm in run.arms.items()} for side in (before, after))
    )
    measured: list[_Measured] = []
    drafts = list(_drafts(nodes, pairs, measured))
    if not measured and all(draft.row.verdict is Verdict.MISSING for draft in drafts):
        raise LevelfieldError(
            "The nodes have no case in common before and after.",
            fix="Gather runs in which the same backends answered the same cases, on the same hardware.",
        )
    smoke = any(SMOKE in run.facts.labels for run in (*before, *after))
    slowed = {name for run in before for name, arm in run.arms.items() if arm.inject}
    drafts += [
        _of_all(case, sides.NOT_MEASURED if smoke else sides.SLOWED if case.arms[0] in slowed else "")
        for case in measured
    ]
    lost = {*old.nodes, *(name for name, runs in new.nodes.items() if not runs)} - {node.name for node in nodes}
    drafts += [Draft(_row(case.case, case.arms, *_LOST, node=name)) for name in sorted(lost) for case in measured]
    judged = [] if smoke else [case for case in measured if case.arms[0] not in slowed]
    unlike = list(_unlike_others(judged, gate.margin, level))
    rows = in_order((*judge_rows(drafts, change_policy(gate)), *unlike))
    changed = changes.compare_environments(before, after, pairs)
    return conclusion.conclude(
        Comparison(
            answer="",
            exit_code=0,
            kind="compare",
            old=_side(before, nodes),
            new=_side(after, nodes),
            notes=tuple(_notes(old, new, nodes, sorted(other), comparison.note_on_changes(changed))),
            rows=rows,
            drifts=drift.find_drift(pairs, before, after, same_hardware=changes.have_same_hardware((*before, *after))),
            changes=changed,
            gate=gate,
            method=_method(rows, gate, level),
            replicate="node",
        )
    )


def _ids(side: Gathered) -> set[str]:
    return {run.facts.id for runs in side.nodes.values() for run in runs}


def _side(runs: Sequence[Reduced], nodes: Sequence[_Node]) -> Side:
    label = f"{units.plural(len(runs), 'run')} on {units.plural(len(nodes), 'node')}"
    return Side(label, tuple(run.facts for run in runs))


def _drafts(nodes: Sequence[_Node], pairs: Sequence[Pair], measured: list[_Measured]) -> Iterator[Draft]:
    """Yield what is said without costs, and add the cases that have some to `measured`."""
    cases = {name: case for node in nodes for run in node.old for name, case in run.cases.items()}
    for arms in pairs:
        for case in cases.values():
            costs: dict[str, _Costs] = {}
            others: list[Row] = []
            for node in nodes:
                before, after = node.results(arms, case.id)
                if not before.answers or not (before.costs or after.answers):
                    continue
                (old, new), states = sides.of_one_state((before.trusted, after.trusted), (1, 1))
                verdict, outcome, reason = _without_costs(node, case, before, after, states)
                if verdict is None:
                    costs[node.name] = sides.costs_of(old), sides.costs_of(new)
                else:
                    others.append(_row(case, arms, verdict, outcome, reason, node=node.name))
            if costs:
                measured.append(_Measured(case, arms, costs))
            if others and not costs and all(row.outcome == "undecided" for row in others):
                missing = all(row.verdict is Verdict.MISSING for row in others)
                verdict = Verdict.MISSING if missing else Verdict.INCOMPARABLE
                others = [_row(case, arms, verdict, "undecided", others[0].reason)]
            yield from map(Draft, others)


def _without_costs(
    node: _Node, case: Case, before: CaseResults, after: CaseResults, states: str
) -> tuple[Verdict | None, Outcome, str]:
    """Return why a node's costs in a case cannot be compared, such as by `states`; no verdict where they can."""
    without = sides.verdict_without_costs(before, after)
    if without is not None:
        return without
    reason = sides.different_digests(before.answers, after.answers)
    if case.timed:
        reason = reason or sides.different_timed_region(node.old, node.new)
    reason = reason or states
    if not reason and after.lacking:
        return Verdict.UNDECIDED, "undecided", after.lacking
    return (Verdict.INCOMPARABLE if reason else None), "undecided", reason


def _of_all(measured: _Measured, reason: str) -> Draft:
    """Return the common change of all nodes in a case; `reason`: why it is not judged."""
    logs = np.array([[np.log(side).mean() for side in costs] for costs in measured.costs.values()])
    ratios = logs[:, 1] - logs[:, 0]
    nodes = len(logs)
    few = f"from {units.plural(nodes, 'node')}: {MIN_RUNS} are needed" if nodes < MIN_RUNS else ""
    row = _row(measured.case, measured.arms, Verdict.UNDECIDABLE, "undecided", reason or few)
    old, new = np.exp(logs.mean(axis=0)).tolist()
    ratio = Estimate(math.exp(float(ratios.mean())))
    row = msgspec.structs.replace(row, old=old, new=new, ratio=ratio, old_replicates=nodes, new_replicates=nodes)
    return Draft(row) if row.reason else Draft(row, from_pairs(mean_of(ratios)))


def _unlike_others(measured: Sequence[_Measured], margin: float, level: float) -> Iterator[Row]:
    """Yield the nodes that changed unlike the others, with how much more they changed, case by case."""
    measured = [case for case in measured if len(case.costs) > FEWEST_PEERS]
    if not measured:
        return
    names = list(dict.fromkeys(name for case in measured for name in case.costs))
    logs = _ratios_of_runs(measured, names)
    levels = outliers.compare_levels(outliers.Costs(logs, np.full((*logs.shape[:2], 1, logs.shape[2]), np.nan)))
    calls = outliers.call(levels, level / max(levels.tests, 1), margin=margin)
    for node, number in np.argwhere(calls.odd & (levels.deviation > 0)).tolist():
        case, away = measured[number], float(levels.deviation[node, number])
        reason = f"it changed by {units.percent(math.expm1(away))} more than the others, which may be an odd run"
        yield _row(case.case, case.arms, Verdict.UNDECIDED, "undecided", reason, node=names[node])
    for node, number in np.argwhere(calls.slow | calls.fast).tolist():
        case = measured[number]
        away, reach = float(levels.deviation[node, number]), float(calls.half_width[node, number])
        slow = bool(calls.slow[node, number])
        verdict = of_metric(verdicts.Verdict.SLOWER if slow else verdicts.Verdict.FASTER, case.case.scenario)
        reason = "against how the other nodes changed"
        yield msgspec.structs.replace(
            _row(case.case, case.arms, verdict, "worse" if slow else "aside", reason, node=names[node]),
            ratio=Estimate(*(math.exp(bound) for bound in (away, away - reach, away + reach))),
            confidence=1 - level,
            old_replicates=len(case.costs[names[node]][0]),
            new_replicates=len(case.costs[names[node]][1]),
        )


def _ratios_of_runs(measured: Sequence[_Measured], names: Sequence[str]) -> Floats:
    """Return log ratios of runs after over runs before, each once, shape (nodes, runs, cases); NaN where there is none.

    Which run stands beside which does not matter: the runs of a node scatter independently. Where one side has more, a
    ratio is of the mean of several.
    """
    most = max(min(map(len, costs)) for case in measured for costs in case.costs.values())
    ratios = np.full((len(names), most, len(measured)), np.nan)
    for number, case in enumerate(measured):
        for node, name in enumerate(names):
            given = [np.log(side) for side in case.costs.get(name, ((), ()))]
            pairs = min(map(len, given))
            if pairs:
                old, new = ([part.mean() for part in np.array_split(side, pairs)] for side in given)
                ratios[node, :pairs, number] = np.subtract(new, old)
    return ratios


def _row(case: Case, arms: Pair, verdict: Verdict, outcome: Outcome, reason: str, *, node: str = "") -> Row:
    return Row(
        case=case,
        metric=case.scenario,
        old_arm=arms[0],
        new_arm=arms[1],
        verdict=verdict,
        outcome=outcome,
        reason=reason.rstrip(". "),
        node=node,
    )


def _notes(old: Gathered, new: Gathered, nodes: Sequence[_Node], other: Sequence[str], changed: str) -> Iterator[str]:
    yield changed
    if other:
        yield f"Hardware that is not known to be the same as before, and left out: {named(other)}."
    for here, there, when in ((old, new, "before"), (new, old, "after")):
        alone = [name for name, runs in here.nodes.items() if runs and not there.nodes.get(name)]
        if alone:
            yield f"Only {when}, and left out: {named(alone)}."
        yield from (f"{when.capitalize()}: {note}" for note in here.notes)
    cut = [node.name for node in nodes if any(run.facts.finished is None for run in (*node.old, *node.new))]
    if cut:
        yield f"Runs were cut off, so that cases may be missing: {named(cut)}."


def _method(rows: Sequence[Row], gate: Gate, level: float) -> str:
    judged = sum(row.confidence is not None and not row.node for row in rows)
    if not judged:
        return (
            "Ratios are new over old, above 1 is worse; they are shown and not judged: nodes are the replicates, and "
            f"{MIN_RUNS} are the fewest that give an estimate of their spread."
        )
    return (
        "Ratios are new over old, above 1 is worse. Nodes are the replicates: each gives the ratio of its own runs, "
        f"and the interval is Student’s t on the logarithms{conclusion.TRIMMED}. {units.plural(judged, 'case')} "
        f"{'was' if judged == 1 else 'were'} judged together, so that of the changes reported at most "
        f"{_share(gate.q)} are wrong (Benjamini–Hochberg 1995). That holds where nothing else changed on all nodes "
        "between the two times: a warmer machine room would count as the change. “Same” means that the whole interval "
        f"lies within {_share(gate.margin)} of no change. Where all nodes changed alike, any of them is called unlike "
        f"the others with a probability of at most {_share(level)}."
    )


def _share(share: float) -> str:
    return f"{100 * share:.3g}{units.NBSP}%"
