"""The first line: is it safe, and if not, what is worse; and the exit code that says the same."""

from collections import Counter
from collections.abc import Mapping, Sequence

import msgspec

from levelfield import scenarios
from levelfield.compare import phrases
from levelfield.compare.effects import MIN_RUNS
from levelfield.compare.sides import NOT_MEASURED
from levelfield.compare.types import Comparison, Derived, Drift, Gate, Movement, Row, Verdict
from levelfield.report import units
from levelfield.statistics.student import TRIMMED_FROM

FINE, WORSE, UNDECIDED = 0, 1, 3


def conclude(comparison: Comparison) -> Comparison:
    """Return the comparison with its exit code, and an answer where it has none, from its rows and drifts."""
    answer = comparison.answer or _answer(comparison)
    return msgspec.structs.replace(comparison, answer=answer, exit_code=exit_code(comparison))


def exit_code(comparison: Comparison) -> int:
    """Return 1 where anything is worse, 3 where anything is undecided or nothing was compared, else 0."""
    rows = comparison.rows
    outcomes = {row.outcome for row in rows} | {drift.outcome for drift in comparison.drifts}
    if "worse" in outcomes:
        return WORSE
    fine = any(row.outcome == "fine" for row in rows) if rows else "fine" in outcomes
    return FINE if fine and "undecided" not in outcomes else UNDECIDED


def _answer(comparison: Comparison) -> str:
    code = exit_code(comparison)
    if code == WORSE:
        return _worse(comparison)
    if code == UNDECIDED:
        return _undecided(comparison)
    nothing = "Nothing got worse" if comparison.gate.derived is None else "No case is above its limit"
    return f"{nothing}: {_counts(comparison)}. {numerics(comparison.drifts)}".strip()


def _worse(comparison: Comparison) -> str:
    total = len(comparison.rows)
    worse = [row for row in comparison.rows if row.outcome == "worse"]
    slower = [row for row in worse if row.ratio is not None and scenarios.get(row.metric).unit != "bytes"]
    hungrier = [row for row in worse if row.ratio is not None and scenarios.get(row.metric).unit == "bytes"]
    failed = [row for row in worse if row.verdict is Verdict.FAILED]
    drifts = [drift for drift in comparison.drifts if drift.outcome == "worse"]
    unequal = [drift for drift in drifts if drift.movement is Movement.BECAME_UNEQUAL]
    moved = [drift for drift in drifts if drift.movement is Movement.BEYOND]
    clauses = [
        *_regressions(slower, total, "are slower"),
        *_regressions(hungrier, total, "take more memory"),
        *_failures(failed),
        *_answers(unequal, "is not equal to the reference any more", "are not equal to the reference any more"),
        *_answers(moved, "moved further than rounding explains", "moved further than rounding explains"),
        *[f"{phrases.where(row)}: {row.reason}" for row in worse if row.verdict is Verdict.MOVED][:1],
    ]
    if not unequal:  # an answer that was compared elsewhere, or not at all, on the old side
        rows = [row for row in worse if row.verdict is Verdict.UNEQUAL]
        clauses += [f"{phrases.where(rows[0])} is not equal to the reference"] if rows else []
    undecided = sum(row.outcome == "undecided" for row in comparison.rows)
    rest = f" {_share_of_cases(undecided, total)} could not be decided." if undecided else ""
    return f"Worse: {'; '.join(clauses)}.{rest}"


def _regressions(rows: Sequence[Row], total: int, verb: str) -> list[str]:
    if not rows:
        return []
    worst = max(rows, key=phrases.ratio_of)
    one = f"{phrases.where(worst)}: {phrases.by_how_much(worst)}"
    return [one] if len(rows) == 1 else [f"{len(rows)} of {total} cases {verb}, most of all {one}"]


def _failures(rows: Sequence[Row]) -> list[str]:
    if not rows:
        return []
    one = f"{phrases.where(rows[0])} ({phrases.clean(rows[0].reason, 120)})"
    if len(rows) == 1:
        return [f"{one} fails now, and did not before"]
    return [f"{len(rows)} cases fail now that did not before, such as {one}"]


def _answers(drifts: Sequence[Drift], one: str, many: str) -> list[str]:
    if not drifts:
        return []
    first = phrases.answer_of(drifts[0])
    return [f"the answer of {first} {one}"] if len(drifts) == 1 else [f"{len(drifts)} answers {many}, such as {first}"]


def _undecided(comparison: Comparison) -> str:
    measured = [row for row in comparison.rows if row.ratio is not None]
    numeric = numerics(comparison.drifts)
    if not measured and all(row.outcome in ("undecided", "aside") for row in comparison.rows):
        return f"Nothing could be compared: {_counts(comparison)}. {numeric}".strip()
    if comparison.same_hardware is not True:
        why = "on different hardware" if comparison.same_hardware is False else "on hardware that is not known"
        return (
            f"The two sides ran {why}, so that no regression can be shown or ruled out: {_counts(comparison)}. "
            f"{numeric}"
        ).strip()
    if all(row.verdict is Verdict.UNDECIDABLE for row in measured):
        return f"{_too_few(measured, comparison.replicate)} {_without_ratio(comparison)}{numeric}".strip()
    undecided = sum(row.outcome == "undecided" for row in comparison.rows)
    if not undecided:
        return f"Nothing is slower, and some answers could not be compared. {numeric}"
    cases = _share_of_cases(undecided, len(comparison.rows))
    return f"Nothing is shown to be worse, and {cases} could not be decided: {_counts(comparison)}. {numeric}".strip()


def _too_few(rows: Sequence[Row], replicate: str) -> str:
    ratios = [row.ratio.value for row in rows if row.ratio is not None]
    span = phrases.factor(min(ratios))
    if len(ratios) > 1:
        span = f"{span} to {phrases.factor(max(ratios))}"
    counts = {(row.old_replicates, row.new_replicates) for row in rows}
    if rows[0].reason == NOT_MEASURED:
        return f"Speed cannot be judged from smoke runs (new/old was {span})."
    many = phrases.replicates(MIN_RUNS, replicate)
    how = f"one {replicate} a side" if counts == {(1, 1)} else f"fewer than {MIN_RUNS} {many} a side"
    return f"Whether anything got slower cannot be decided from {how} (new/old was {span}, chance included)."


def _without_ratio(comparison: Comparison) -> str:
    """Count what has no ratio among rows that have one and cannot be judged."""
    counts = Counter(row.verdict for row in comparison.rows if row.ratio is None)
    if not counts:
        return ""
    return "Besides: " + ", ".join(f"{count} {verdict}" for verdict, count in sorted(counts.items())) + ". "


def _counts(comparison: Comparison) -> str:
    """`20 the same within 2 %, 3 faster, 1 not decided`."""
    counts = Counter(row.verdict for row in comparison.rows)
    total = len(comparison.rows)
    limit = comparison.gate.max_slowdown
    same = f"the same within {phrases.share(comparison.gate.margin)}"
    if counts == {Verdict.MENDED: total}:
        return all_mended(total)
    if counts == {Verdict.SAME: total}:
        return f"all {total} cases are {same}" if total > 1 else f"{phrases.where(comparison.rows[0])} is {same}"
    words = {Verdict.SAME: same}
    if found := [row.finds - 1 for row in comparison.rows if row.finds is not None and row.verdict is Verdict.WITHIN]:
        words[Verdict.WITHIN] = f"{Verdict.WITHIN}, where a slowdown below {units.percent(max(found))} may hide"
    text = counted(counts, words)
    if limit is not None and exit_code(comparison) == FINE:
        text = f"no case is more than {phrases.share(limit)} slower or larger ({text})"
    return text


def all_mended(total: int) -> str:
    """Say that every old answer was wrong."""
    return f"in {'the only case' if total == 1 else f'all {total} cases'} {Verdict.MENDED}"


def counted(counts: Mapping[Verdict, int], words: Mapping[Verdict, str], first: Sequence[Verdict] = ()) -> str:
    """`1 slower, 23 safe within 2 %`, in the order of `first`, then of all verdicts; `words` stand for their names."""
    order = dict.fromkeys((*first, *Verdict))
    words = {Verdict.MENDED: "with a wrong old answer", **words}
    return ", ".join(f"{counts[each]} {words.get(each, each.value)}" for each in order if counts.get(each))


def numerics(drifts: Sequence[Drift]) -> str:
    """Say in one sentence whether answers moved; empty where none was compared, or the verdicts say it all."""
    if all(drift.movement is Movement.BECAME_EQUAL for drift in drifts):
        return ""
    counts = Counter(drift.movement for drift in drifts)
    total = len(drifts)
    if counts[Movement.IDENTICAL] == total:
        return (
            f"All {total} answers are identical, bit by bit." if total > 1 else "The answer is identical, bit by bit."
        )
    words = {
        Movement.IDENTICAL: "identical",
        Movement.WITHIN: "moved within what rounding explains",
        Movement.BEYOND: "moved beyond what rounding explains",
        Movement.BECAME_UNEQUAL: "became unequal to the reference",
        Movement.BECAME_EQUAL: "became equal to the reference",
        Movement.UNEQUAL: "not equal to the reference on the new side",
        Movement.UNKNOWN: "not compared",
    }
    if total == 1:
        (word,) = (words[movement] for movement in counts)
        return f"The answer {'' if word.startswith(('moved', 'became')) else 'is '}{word}."
    parts = [f"{counts[movement]} {words[movement]}" for movement in Movement if counts[movement]]
    return f"Of {units.plural(total, 'answer')}, {', '.join(parts)}."


def method(rows: Sequence[Row], gate: Gate) -> str:
    """Return a paragraph on how verdicts were reached.

    References
    ----------
    Y. Benjamini, Y. Hochberg (1995) and Y. Benjamini, D. Yekutieli (2005), as in `compare.policy`;
    B. L. Welch (1947), as in `compare.effects`.
    """
    judged = sum(row.confidence is not None for row in rows)
    if gate.derived is not None:
        return _method_of_derived(gate.derived, gate)
    same = f"“Same” means that the whole interval lies within {phrases.share(gate.margin)} of no change."
    if not judged:
        return (
            f"Ratios are new over old, above 1 is worse; they are shown and not judged: runs are the replicates, and "
            f"{MIN_RUNS} a side are the fewest that give an estimate of their spread."
        )
    return (
        f"Ratios are new over old, above 1 is worse. Runs are the replicates: {_test(rows)}. "
        f"{units.plural(judged, 'row')} {'was' if judged == 1 else 'were'} judged together, so that of the "
        f"changes reported at most {phrases.share(gate.q)} are wrong (Benjamini–Hochberg 1995), and the intervals "
        "hold for the selection (Benjamini–Yekutieli 2005). That holds where old and new runs are exchangeable, so "
        f"that the machine itself was no other for one side than for the other. {same}{_asked(gate)}"
    )


def _asked(gate: Gate) -> str:
    if not gate.max_slowdown:
        return ""
    return f" The gate asks whether an interval lies above or below {phrases.share(gate.max_slowdown)}."


TRIMMED = f" (from {TRIMMED_FROM} on without a tenth of them, at least one, at either end)"


def _test(rows: Sequence[Row]) -> str:
    """Name the test of runs against runs, and of runs that were made in turns."""
    paired = [row.paired for row in rows if row.confidence is not None]
    in_turns = f"Student’s t on the log ratios of pairs of runs that were made in turns{TRIMMED}"
    welch = "Welch’s t on the logarithm of each run’s estimate"
    if all(paired):
        return in_turns
    return f"{in_turns}; where they are too few pairs, {welch}" if any(paired) else welch


def _method_of_derived(derived: Derived, gate: Gate) -> str:
    return (
        f"Ratios are new over old, above 1 is worse. Limits come from how far {units.plural(derived.runs, 'run')} "
        "without a change lie apart. A case is worse where more than half of the new runs are above its limit. In at "
        f"most {phrases.share(derived.false_alarms)} of comparisons without a change is any case called worse, "
        f"{units.plural(len(derived.cases), 'case')} together, for noise with tails up to those of Student’s t with 3 "
        "degrees of freedom. A change of the size that a row says it finds is called worse with a probability of "
        f"{phrases.share(derived.power)}. That holds where new runs scatter as those did, and the machine is what it "
        f"was then.{_asked(gate)}"
    )


def _share_of_cases(count: int, total: int) -> str:
    return f"{count} of {total} cases" if total > 1 else "the case"
