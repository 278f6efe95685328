"""Rows of a comparison: the answers of both sides to each case, and the verdict where the question is the same."""

import fnmatch
import math
from collections.abc import Iterable, Iterator, Sequence

import msgspec
import numpy as np

from levelfield.analysis.summary import Answer, Reduced
from levelfield.analysis.types import Estimate
from levelfield.compare import effects, order_in_time, sides
from levelfield.compare.effects import MIN_RUNS, Effect
from levelfield.compare.gate import judged_by_limit, why_no_limit
from levelfield.compare.policy import Judgement, Policy, change_policy, judge, of_metric
from levelfield.compare.types import Gate, Metric, Outcome, Row, Verdict
from levelfield.names import plural
from levelfield.record.schema import Case

MOST_FURTHER_SECONDS = 30 * 86_400.0
"""More runs that take longer than this are "out of reach": a case is not worth a month of measuring."""


class Selection(msgspec.Struct, frozen=True):
    """Which rows to return."""

    only: tuple[str, ...] = ()
    """Globs on result ids (`onnxruntime/*`, `*/resnet50/*`); none: all."""
    metrics: tuple[Metric, ...] = ()

    def includes(self, arms: sides.Pair, case: Case) -> bool:
        """Return whether a case of a pair of arms is selected, by the id of either.

        `arms`, `case`: the pair, in which one id may be empty, and the case.
        """
        ids = [f"{arm}/{case.id}" for arm in arms if arm]
        named = not self.only or any(fnmatch.fnmatchcase(name, glob) for name in ids for glob in self.only)
        return named and (not self.metrics or case.scenario in self.metrics)

    def unused(self, rows: Iterable[Row]) -> list[str]:
        """Return the globs and metrics that select none of these rows: a gate that names them guards nothing."""
        rows = tuple(rows)
        names = {f"{arm}/{row.case.id}" for row in rows for arm in (row.old_arm, row.new_arm) if arm}
        found: list[str] = [glob for glob in self.only if not fnmatch.filter(names, glob)]
        return found + [each for each in self.metrics if each not in {row.case.scenario for row in rows}]


class Draft(msgspec.Struct, frozen=True):
    """A row before it is judged among the others."""

    row: Row
    effect: Effect | None = None
    """What it is judged by; None: the row stands as it is."""
    seconds: float | None = None
    """What one more replicate on each side takes."""


def judge_rows(drafts: Sequence[Draft], policy: Policy, *, longest_seconds: float = math.inf) -> tuple[Row, ...]:
    """Judge all rows that have an effect together."""
    effects = [draft.effect for draft in drafts if draft.effect is not None]
    judgements = iter(judge(effects, policy))
    return tuple(
        draft.row if draft.effect is None else _judged(draft, next(judgements), longest_seconds) for draft in drafts
    )


def _judged(draft: Draft, found: Judgement, longest_seconds: float) -> Row:
    seconds = found.further * draft.seconds if found.further is not None and draft.seconds else None
    judged = msgspec.structs.asdict(found) | {"further_seconds": seconds}
    if seconds is not None and seconds > longest_seconds:  # out of reach
        judged |= {"further": None, "further_seconds": None}
    return msgspec.structs.replace(draft.row, **judged | {"verdict": of_metric(found.verdict, draft.row.metric)})


class _Sides(msgspec.Struct, frozen=True):
    old: Sequence[Reduced]
    new: Sequence[Reduced]
    gate: Gate
    turns: tuple[tuple[int, int], ...]
    """Pairs of runs that were made in turns: index of the old and of the new one."""

    def paired_costs(self, arms: sides.Pair, case: str) -> tuple[list[float], list[float]] | None:
        """Return the costs of the pairs in which both runs have one, of one state; None where they are too few."""
        found = [
            (old, new)
            for before, after in self._pairs(arms, case)
            if before is not None
            and after is not None
            and (old := sides.trusted_cost(before)) is not None
            and (new := sides.trusted_cost(after)) is not None
            and before.windows_of == after.windows_of
        ]
        if len(found) < max(order_in_time.MIN_PAIRS, len(self.turns) / 2):
            return None
        return [old for old, _ in found], [new for _, new in found]

    def _pairs(self, arms: sides.Pair, case: str) -> Iterator[tuple[Answer | None, Answer | None]]:
        for old, new in self.turns:
            yield self.old[old].answers.get((arms[0], case)), self.new[new].answers.get((arms[1], case))

    def alone(self, row: Row) -> int:
        """Return how many new runs have a cost that no pair is judged by, since the old run has none."""
        pairs = self._pairs((row.old_arm, row.new_arm), row.case.id) if row.paired else ()
        costs = ((sides.trusted_cost(before), sides.trusted_cost(after)) for before, after in pairs)
        return sum(old is None and new is not None for old, new in costs)

    def is_slowed(self, arm: str) -> bool:
        """Return whether an arm of the old side was slowed down on purpose."""
        return any(arm in run.arms and run.arms[arm].inject for run in self.old)

    @property
    def labels(self) -> set[str]:
        return {label for run in (*self.old, *self.new) for label in run.facts.labels}

    @property
    def seconds(self) -> float | None:
        """What one more run on either side takes."""
        means = []
        for side in (self.old, self.new):
            known = [run.seconds for run in side if run.seconds is not None]
            if not known:
                return None
            means.append(sum(known) / len(known))
        return sum(means)


def compare_rows(
    old: Sequence[Reduced],
    new: Sequence[Reduced],
    pairs: Sequence[sides.Pair],
    gate: Gate,
    selection: Selection,
    *,
    same_hardware: bool | None,
) -> tuple[Row, ...]:
    """Return one row for every selected case and arm of either side; worse ones first.

    Runs are the replicates: all rows with enough of them are judged together, corrected for their number. Runs that
    were made in turns are compared pair by pair (`order_in_time.pairs_in_turns`). On other hardware ratios and verdicts
    are shown, and none of them counts as a regression or as its absence.

    `pairs`: arms that answer each other; where one of the two is empty, the row says that its case is missing.
    `same_hardware`: whether both sides ran on the same hardware; None where that is not known.
    """
    turns = order_in_time.pairs_in_turns(*([run.moment for run in side] for side in (old, new)))
    given = _Sides(old, new, gate, turns)
    drafts = [
        one for one in _drafts(given, pairs) if selection.includes((one.row.old_arm, one.row.new_arm), one.row.case)
    ]
    judged = judge_rows(drafts, change_policy(gate), longest_seconds=MOST_FURTHER_SECONDS)
    results = sides.by_arm(new)
    rows = (
        row if row.outcome != "fine" else _whole(row, results[row.new_arm][row.case.id], given.alone(row))
        for row in judged
    )
    return in_order(rows if same_hardware is True else map(_on_other_hardware, rows))


_OUTCOMES: tuple[Outcome, ...] = ("worse", "undecided", "aside", "fine")
_VERDICTS = tuple(Verdict)


def in_order(rows: Iterable[Row]) -> tuple[Row, ...]:
    """Sort rows for a reader: by outcome, worse ones first, and within an outcome by the ratio, the largest first.

    A ratio is of cost, new over old, so the largest is the worst. Rows without a ratio follow those that have one.
    """
    return tuple(sorted(rows, key=_order))


def _order(row: Row) -> tuple[int, bool, float, int]:
    ratio = row.ratio.value if row.ratio is not None else 0.0
    return _OUTCOMES.index(row.outcome), row.ratio is None, -ratio, _VERDICTS.index(row.verdict)


def in_common(
    old: Iterable[Reduced], new: Iterable[Reduced], pairs: Iterable[sides.Pair], selection: Selection
) -> bool:
    """Return whether both sides of any pair of arms answered a selected case, or nearly so (`sides.SimilarCases`)."""
    before, after = _cases_by_arm(old), _cases_by_arm(new)
    for pair in pairs:
        second = after.get(pair[1], {})
        similar = sides.SimilarCases(second.values())
        for name, case in before.get(pair[0], {}).items():
            if selection.includes(pair, case) and (name in second or similar.to(case) is not None):
                return True
    return False


def _cases_by_arm(runs: Iterable[Reduced]) -> dict[str, dict[str, Case]]:
    found: dict[str, dict[str, Case]] = {}
    for run in runs:
        for arm, case in run.answers:
            found.setdefault(arm, {})[case] = run.cases[case]
    return found


def _drafts(given: _Sides, pairs: Sequence[sides.Pair]) -> Iterator[Draft]:
    cases = _cases(given.old), _cases(given.new)
    results = sides.by_arm(given.old), sides.by_arm(given.new)
    for arms in pairs:
        before, after = results[0].get(arms[0], {}), results[1].get(arms[1], {})
        alone = {name: cases[1][name] for name in after if name not in before}
        similar = sides.SimilarCases(alone.values())
        for name, first in before.items():
            if name in after:
                yield from _both(cases[0][name], arms, first, after[name], given)
                continue
            other = similar.to(cases[0][name])
            if other is not None:
                del alone[other.id]
                similar.remove(other)
                reason = sides.describe_difference(cases[0][name], other)
                yield _draft(other, arms, Verdict.INCOMPARABLE, "undecided", reason)
            elif first.costs or first.with_standing("unequal"):
                reason = "the new side did not measure it" if arms[1] else "the new side does not have this arm"
                yield _draft(cases[0][name], arms, Verdict.MISSING, "undecided", reason)
        for name, case in alone.items():
            if given.gate.derived is not None and f"{arms[1]}/{name}" in given.gate.derived.without:
                yield _draft(case, arms, Verdict.MISSING, "undecided", "the gate has no limit for it")
                continue
            yield from _added(case, arms, after[name])


def _cases(runs: Iterable[Reduced]) -> dict[str, Case]:
    return {name: case for run in runs for name, case in run.cases.items()}


def _added(case: Case, arms: sides.Pair, after: sides.CaseResults) -> Iterator[Draft]:
    """Yield a case that the old side does not have: nothing can have got worse, and a failure is still shown."""
    unequal = after.with_standing("unequal")
    if after.with_standing("failed"):
        yield _draft(case, arms, Verdict.FAILED, "undecided", sides.reason_for_failure(after))
    elif unequal:
        yield _draft(case, arms, Verdict.UNEQUAL, "undecided", sides.first_reason(unequal))
    elif after.costs:
        reason = "the old side did not measure it" if arms[0] else "the old side does not have this arm"
        yield _draft(case, arms, Verdict.ADDED, "aside", reason)


def _both(
    case: Case, arms: sides.Pair, before: sides.CaseResults, after: sides.CaseResults, given: _Sides
) -> Iterator[Draft]:
    """Yield a case that both sides have; nothing where neither supports it."""
    without_costs = sides.verdict_without_costs(before, after)
    if without_costs is not None:
        if without_costs[0] is not Verdict.MISSING or not (after.unsupported and before.unsupported):
            yield _draft(case, arms, *without_costs)
        return
    reason = sides.different_digests(before.answers, after.answers)
    if case.timed:
        reason = reason or sides.different_timed_region(given.old, given.new)
    if reason:
        yield _draft(case, arms, Verdict.INCOMPARABLE, "undecided", reason)
    else:
        yield _measured(case, arms, before, after, given)


def _draft(case: Case, arms: sides.Pair, verdict: Verdict, outcome: Outcome, reason: str) -> Draft:
    return Draft(
        Row(
            case=case,
            metric=case.scenario,
            old_arm=arms[0],
            new_arm=arms[1],
            verdict=verdict,
            outcome=outcome,
            reason=reason.rstrip(". "),
        )
    )


def _measured(
    case: Case, arms: sides.Pair, before: sides.CaseResults, after: sides.CaseResults, given: _Sides
) -> Draft:
    derived = given.gate.derived
    pairs = given.paired_costs(arms, case.id) if derived is None else None
    fewest = MIN_RUNS, MIN_RUNS if derived is None else 1
    answers, states = sides.of_one_state((before.trusted, after.trusted), fewest)
    costs = pairs or (sides.costs_of(answers[0]), sides.costs_of(answers[1]))
    first, second = (math.exp(float(np.mean(np.log(side)))) for side in costs)
    counts = len(costs[0]), len(costs[1])
    few = sides.why_not_judged(counts, given.labels) if derived is None else ""
    no_limit = why_no_limit(f"{arms[0]}/{case.id}", derived, given.labels) if derived is not None else ""
    reason = few or no_limit or (sides.SLOWED if given.is_slowed(arms[0]) else "")
    if pairs is None and reason not in (sides.NOT_MEASURED, sides.SLOWED):
        reason = "; ".join(filter(None, (reason, states)))  # also of too few: their ratio is shown
    row = Row(
        case=case,
        metric=case.scenario,
        old_arm=arms[0],
        new_arm=arms[1],
        verdict=Verdict.UNDECIDABLE if few else Verdict.UNDECIDED,
        outcome="undecided",
        reason=reason,
        old=first,
        new=second,
        ratio=Estimate(second / first),
        old_replicates=counts[0],
        new_replicates=counts[1],
        paired=pairs is not None,
    )
    if reason:
        return Draft(row)
    left = sides.left_out((before.trusted, after.trusted), answers) if pairs is None else ""
    if derived is not None:
        row = judged_by_limit(row, costs, given.gate, derived)
        return Draft(msgspec.structs.replace(row, reason="; ".join(filter(None, (row.reason, left)))))
    effect = effects.from_runs if pairs is None else effects.from_paired_runs
    return Draft(msgspec.structs.replace(row, reason=left), effect(*costs), given.seconds)


def _whole(row: Row, after: sides.CaseResults, alone: int) -> Row:
    """Return a row that is fine, or undecided where runs of the new side have no result, or no partner in turns."""
    lacking = f"of {plural(alone, 'new run')} the old one has no result" if alone else ""
    return undecided(row, after.lacking or lacking) if after.lacking or lacking else row


def undecided(row: Row, reason: str, verdict: Verdict = Verdict.UNDECIDED) -> Row:
    """Return a row without its verdict."""
    return msgspec.structs.replace(
        row, verdict=verdict, outcome="undecided", reason=reason, confidence=None, further=None
    )


def _on_other_hardware(row: Row) -> Row:
    if row.outcome not in ("fine", "worse") or row.verdict is Verdict.UNEQUAL:
        return row
    reason = "on other hardware" if row.ratio is not None else f"{row.reason}, on other hardware"
    return msgspec.structs.replace(row, outcome="undecided", reason=reason)
