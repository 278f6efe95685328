"""Two arms of one run: only the arms differ, not the machine or the time.

Both arms of a generation were launched and measured together, so each generation gives one log ratio; a launch is the
unit of replication. All cases are judged together (`compare.policy`), corrected for their number.

Where the arms use different launchers, it says what a container costs: the ratios of the comparison, turned so that
they give the cost of the arm with more layers between it and the machine over the other.
"""

import contextlib
import math
from collections.abc import Sequence
from functools import partial

import msgspec

from levelfield import analysis
from levelfield.analysis import collect, whole_launch
from levelfield.analysis.estimates import ended_by, matrix
from levelfield.analysis.launch_levels import launch_levels, level_matrix
from levelfield.analysis.status import AB, SMOKE
from levelfield.analysis.summary import answer_of, reduce
from levelfield.analysis.types import AnyRow, Estimate
from levelfield.compare import changes, comparison, conclusion, drift, phrases
from levelfield.compare.effects import from_pairs
from levelfield.compare.policy import change_policy
from levelfield.compare.rows import Draft, in_order, judge_rows
from levelfield.compare.rows import undecided as undecided_row
from levelfield.compare.sides import CaseResults, verdict_without_costs
from levelfield.compare.types import Comparison, Drift, Gate, Row, Side, Verdict
from levelfield.errors import LevelfieldError
from levelfield.images.catalogue import stem
from levelfield.options.values import parse_share
from levelfield.record.schema import Arm, Block, Case, Run
from levelfield.report import names, sentences, states, units
from levelfield.report.sentences import join
from levelfield.statistics.arrays import Floats
from levelfield.statistics.stopping import decide
from levelfield.statistics.student import LOOK_COST, MIN_LAUNCHES, TRIMMED_FROM, EndedBy, fewest_launches, mean_of

_FINAL = {Verdict.FAILED, Verdict.MISSING, Verdict.UNEQUAL}
"""Verdicts that further launches do not change."""
_TRIMMED = f" Of {TRIMMED_FROM} ratios or more, a tenth (at least one) is left out at either end."
_ENDS = {
    EndedBy.PLAN: _TRIMMED,
    EndedBy.PRECISION: " They are widened for having ended the run as soon as they were narrow enough.",
    EndedBy.VERDICT: f"{_TRIMMED} A case was finished with its verdict, for which there was a look after every "
    f"generation: that after n has 1 / ({LOOK_COST:g} n) of the level, so that all looks together keep it.",
}
METHOD = (
    "Both arms were alive together and took turns in random order; every generation launched both anew and gives one "
    "ratio. Intervals are Student's t over these ratios on the log scale.{ends} Verdicts are corrected for the number "
    "of cases (false discovery rate {q:g} %), and “same” means that the whole interval lies within ±{margin:g} %."
)


def arms(run: Run) -> tuple[Arm, Arm]:
    """Return A and B of a run. Raises LevelfieldError: the run does not have two arms in every block."""
    first = run.blocks[0].arms if run.blocks else ()
    if len(first) != 2 or any(block.arms != first for block in run.blocks):
        raise LevelfieldError(f"The run {run.id} does not compare two arms.", fix="Make one with `levelfield ab A B`.")
    return first[0], first[1]


def of_run(run: Run) -> Comparison | None:
    """Return the comparison of the two arms of a run of `ab`, by its record alone; None for other runs."""
    if AB not in run.labels:
        return None
    with contextlib.suppress(LevelfieldError):  # anybody can label a run so
        return compare_arms(run, gate_of(run), "")
    return None


def gate_of(run: Run) -> Gate:
    """Return the gate that a run of `ab` was made with, by its record alone: a record has one page.

    Earlier versions recorded the slowdown allowed only in the command, where the last one counts.
    """
    limit = run.settings.max_slowdown
    for word, following in zip(run.command, (*run.command[1:], ""), strict=False):
        name, _, value = word.partition("=")
        if name == "--max-slowdown" and run.settings.max_slowdown is None:
            limit = parse_share(value or following)
    return Gate(margin=run.settings.margin, max_slowdown=limit)


def compare_arms(run: Run, gate: Gate, sha256: str) -> Comparison:
    """Compare B with A in every case. Raises LevelfieldError: the run does not have two arms in every block."""
    old, new = arms(run)
    rows = judge_arms(run, old, new, gate)
    before, after = reduce(_view(run, old, new), sha256), reduce(_view(run, new, old), sha256)
    pairs = [(old.id, new.id)]
    drifts = drift.find_drift(pairs, [before], [after], same_hardware=True)
    ended = max((ended_by(run.settings, block.case) for block in run.blocks), key=list(_ENDS).index)
    around = changes.compare_environments([before], [after], pairs)
    return conclusion.conclude(
        Comparison(
            answer=answer(rows, drifts, gate),
            exit_code=0,
            kind="ab",
            old=Side(old.id, (before.facts,)),
            new=Side(new.id, (after.facts,)),
            notes=(
                comparison.note_on_changes(around),
                *_notes(run, old, new),
                *_notes_on_launchers(run, old, new, rows),
            ),
            rows=rows,
            drifts=drifts,
            changes=around,
            gate=gate,
            method=METHOD.format(q=100 * gate.q, margin=100 * gate.margin, ends=_ENDS[ended]),
            order="turns",
            replicate="launch",
            same_hardware=True,
        )
    )


def undecided(run: Run, gate: Gate) -> dict[str, str]:
    """Return the cases of a run in progress that have no verdict yet.

    Raises LevelfieldError: the run does not have two arms in every block.
    """
    old, new = arms(run)
    return {
        row.case.id: row.reason or phrases.ratio(row.ratio)
        for row in judge_arms(run, old, new, gate)
        if row.outcome == "undecided" and row.verdict not in _FINAL
    }


def _view(run: Run, own: Arm, other: Arm) -> Run:
    image, foreign = (
        (arm.launcher or run.settings.launcher, arm.image, stem(arm.variant, arm.version)) for arm in (own, other)
    )
    return msgspec.structs.replace(
        run,
        blocks=tuple(msgspec.structs.replace(block, arms=(own,)) for block in run.blocks),
        images=tuple(
            each for each in run.images if foreign == image or (each.launcher, each.name, each.variant) != foreign
        ),
    )


def _notes(run: Run, old: Arm, new: Arm) -> tuple[str, ...]:
    found = []
    if msgspec.structs.replace(new, ordinal=old.ordinal, inject=old.inject) == old:
        found.append("Both arms are the same thing: this run shows what no difference looks like here.")
    found += [f"{arm.id} was slowed down by {arm.inject} on purpose." for arm in (old, new) if arm.inject]
    if SMOKE in run.labels:
        found.append("A smoke run shows whether everything works; it has too few launches for any verdict.")
    widest = _widest(run)
    if widest is not None:
        found.append(sentences.precision(widest))
    found += _states(run)
    if run.finished is None:
        found.append("The run was cut off: what is here was measured, and no more.")
    return tuple(found)


def _states(run: Run) -> list[str]:
    """Say in which state of the machine the run measured, and which case in another one."""
    found = analysis.analyse(run)
    said = [(f"{sentences.named(block, found.timed)}: ", states.of_case(block, found)) for block in found.timed]
    return [*filter(None, [states.sentence(found)]), *(name + sentence for name, sentence in said if sentence)]


def _widest(run: Run) -> float | None:
    """Return the half-width, log scale, of the widest interval by which measuring was allowed to stop."""
    target = run.settings.precision_target
    if target is None:
        return None
    widths = [decide(level_matrix(block), target=target).half_width for block in run.blocks if block.case.timed]
    return max((width for width in widths if width is not None), default=None)


_OPEN = (Verdict.UNDECIDED, Verdict.UNDECIDABLE, Verdict.MISSING)
_CLAUSES = {
    (Verdict.SLOWER,): "is slower than {old} in {share} ({largest})",
    (Verdict.FASTER,): "is faster than {old} in {share} ({largest})",
    (Verdict.MORE_MEMORY,): "takes more memory than {old} in {share} ({largest})",
    (Verdict.LESS_MEMORY,): "takes less memory than {old} in {share} ({largest})",
    (Verdict.SAME,): "is the same within {margin:g} % in {share}",
    (Verdict.MENDED,): "is equal to the reference in {share}, where the answer of {old} was wrong",
    (Verdict.RECOVERED,): "answers in {share}, where {old} failed",
    (Verdict.ADDED,): "answers in {share}, where {old} did not",
    (Verdict.FAILED,): "fails in {share}",
    (Verdict.UNEQUAL,): "gives no valid answer in {share}",
    _OPEN: "{share} could not be decided",
}
"""What is said of the new arm, by the verdicts on it."""


def answer(rows: Sequence[Row], drifts: Sequence[Drift], gate: Gate) -> str:
    """Return the comparison in one line: the new arm, the old arm, in how many cases they differ and by how much."""
    if not rows:
        return "Nothing was compared."
    old, new = rows[0].old_arm, rows[0].new_arm
    clauses: dict[tuple[Verdict, ...], str] = {}
    limit = f" by more than {phrases.share(gate.max_slowdown)}" if gate.max_slowdown else ""
    inside = [row for row in rows if row.verdict is Verdict.UNDECIDED and row.outcome == "fine"]  # of that limit
    if inside:
        share = _share_of_cases(len(inside), len(rows))
        clauses[()] = f"is not slower than {old}{limit} in {share} ({_largest(inside)})"
    for verdicts, clause in _CLAUSES.items():
        if found := [row for row in rows if row.verdict in verdicts and row not in inside]:
            share, largest = _share_of_cases(len(found), len(rows)), _largest(found)
            clauses[verdicts] = clause.format(old=old, share=share, largest=largest, margin=100 * gate.margin)
    text = f"{new} {'; '.join(clauses.values())}" if clauses else ""
    if set(clauses) == {_OPEN}:
        total = "the only case" if len(rows) == 1 else f"{len(rows)} cases"
        differs = f"is slower than {old}{limit}" if limit else f"differs from {old}"
        text = f"Whether {new} {differs} could not be decided in {total}"
    return " ".join(part for part in (f"{text}.", conclusion.numerics(drifts)) if part)


def _share_of_cases(count: int, total: int) -> str:
    if total == 1:
        return "the only case"
    return f"all {total} cases" if count == total else f"{count} of {total} cases"


def _largest(found: Sequence[Row]) -> str:
    row = max(found, key=lambda row: abs(math.log(row.ratio.value)) if row.ratio else 0.0)
    case = phrases.case(row)
    if row.ratio is None or row.ratio.low is None or row.ratio.high is None:
        return case
    value, low, high = (
        units.percent(each - 1, signed=True) for each in (row.ratio.value, row.ratio.low, row.ratio.high)
    )
    return f"{'most: ' if len(found) > 1 else ''}{case}: {value}, {low} to {high}"


def judge_arms(run: Run, old: Arm, new: Arm, gate: Gate) -> tuple[Row, ...]:
    """Judge every case of a run with two arms; worse ones first."""
    blocks = analysis.analyse(run).blocks
    drafts: list[Draft] = []
    lacking: dict[str, str] = {}
    for block, analysed in zip(run.blocks, blocks, strict=True):
        rows: dict[str, AnyRow] = {row.arm: row for row in analysed.rows}
        before, after = (CaseResults(1, (answer_of(rows[arm.id], block, arm),)) for arm in (old, new))
        drafts.append(_draft(run, block, (old, new), (before, after)))
        lacking[block.case.id] = after.lacking
    judged = judge_rows(drafts, change_policy(gate))
    return in_order(
        undecided_row(row, lacking[row.case.id], Verdict.MISSING)
        if row.outcome == "fine" and lacking[row.case.id]
        else row
        for row in judged
    )


def _draft(run: Run, block: Block, arms: tuple[Arm, Arm], sides: tuple[CaseResults, CaseResults]) -> Draft:
    ended = ended_by(run.settings, block.case)
    fewest = fewest_launches(ended)
    levels = launch_levels(block)
    old, new = (levels[arm.id] for arm in arms)
    common = sorted(old.keys() & new.keys())
    first, second = matrix({"old": old, "new": new}, common).T
    found = verdict_without_costs(*sides)
    if found is None and len(common) < fewest:
        launched = "launch" if len(common) == 1 else "launches"
        reason = f"{len(common)} {launched} of both arms, and a verdict takes {fewest}"
        found = Verdict.UNDECIDABLE, "undecided", reason
    effect = from_pairs(mean_of(second - first, ended)) if found is None else None
    verdict, outcome, reason = found or (Verdict.UNDECIDED, "undecided", "")
    further = fewest - len(common) if verdict is Verdict.UNDECIDABLE else None
    timed = verdict not in {Verdict.UNEQUAL, Verdict.MENDED}  # a wrong answer's time is a time of something else
    seconds = whole_launch.generation_seconds(block)
    row = Row(
        case=block.case,
        metric=block.case.scenario,
        old_arm=arms[0].id,
        new_arm=arms[1].id,
        verdict=verdict,
        outcome=outcome,
        reason=reason,
        old=_typical(first) if timed else None,
        new=_typical(second) if timed else None,
        ratio=Estimate(math.exp(float((second - first).mean()))) if common and timed else None,
        old_replicates=len(common),
        new_replicates=len(common),
        further=further,
        further_seconds=further * seconds if further is not None and seconds else None,
    )
    return Draft(row, effect, seconds)


def _typical(logs: Floats) -> float | None:
    return math.exp(float(logs.mean())) if logs.size else None


_FURTHEST_FIRST = ("docker", "venv", "host")
_WHERE = {
    "docker": "in a container",
    "venv": "in a virtual environment of the same lock",
    "host": "in the current interpreter, with what is installed there",
}
_NAMES = {"docker": "the container", "venv": "the virtual environment", "host": "the current interpreter"}


def _notes_on_launchers(run: Run, old: Arm, new: Arm, rows: Sequence[Row]) -> tuple[str, ...]:
    """Return the cost of one launcher over the other; nothing where both arms have the same one."""
    places = [(arm.launcher or run.settings.launcher, arm) for arm in (old, new)]
    (outer_at, outer), (inner_at, inner) = sorted(places, key=lambda place: _FURTHEST_FIRST.index(place[0]))
    if outer_at == inner_at:
        return ()
    where = f"{outer.id} ran {_WHERE[outer_at]}, {inner.id} {_WHERE[inner_at]}."
    other = _other_differences(run, outer, inner)
    if other:
        return (
            f"{where} They differ in more than that ({other}): what the launcher costs cannot be separated from that.",
        )
    costs: dict[str, list[str]] = {}
    cases = [block.case.id for block in run.blocks]
    several = len({block.case.threads for block in run.blocks}) > 1
    for row in sorted(rows, key=lambda row: cases.index(row.case.id)):
        if row.ratio is not None:
            ratio = row.ratio.inverse if outer is old else row.ratio
            cost = f"{_case_of_cost(row.case, threads=several)} {_percents(ratio)}"
            costs.setdefault(phrases.metric(row.metric), []).append(cost)
    said = f"What {_NAMES[outer_at]} costs in {{}}, over {_NAMES[inner_at]}: {{}}."
    lines = (said.format(metric, "; ".join(of_cases)) for metric, of_cases in costs.items())
    return (where, *lines) if costs else (f"{where} What that costs was not measured.",)


def _other_differences(run: Run, outer: Arm, inner: Arm) -> str:
    """Return in what the arms differ beside the launcher."""
    if msgspec.structs.replace(inner, ordinal=outer.ordinal, launcher=outer.launcher) != outer:
        return "backend, version, settings or an injected slowdown"
    launches = [launch for block in run.blocks for _, launch in collect.launches(block)]
    first, second = (
        sorted({each.framework_version for each in launches if each.arm == arm.id} - {""}) for arm in (outer, inner)
    )
    return f"version {join(first)} and {join(second)}" if first and second and first != second else ""


def _case_of_cost(case: Case, *, threads: bool) -> str:
    parts = [phrases.clean(names.network(case), 60)]
    parts += [f"batch {case.batch}"] if case.per_item else []
    parts += [phrases.clean(case.precision, 40)] if case.precision != "fp32" else []
    parts += [units.plural(case.threads, "thread")] if threads else []
    return ", ".join(parts)


def _percents(ratio: Estimate) -> str:
    """`+1.2 % (+0.4 % to +2.0 %)` of a ratio of costs."""
    text = units.within(ratio.extra, partial(units.percent, signed=True), to=" to ")
    return text if ratio.low is not None else f"{text} (fewer than {MIN_LAUNCHES} launches, so no interval)"
