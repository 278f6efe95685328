"""Two arms of one run: only the arms differ, not the machine or the time.

Both arms of a generation were launched and measured together, so each generation gives one log ratio; a launch is the
unit of replication. All cases are judged together (`compare.policy`), corrected for their number.

Where the arms use different launchers, it says what a container costs: the ratios of the comparison, turned so that
they give the cost of the arm with more layers between it and the machine over the other.
"""

import math
from collections.abc import Iterator, Sequence
from functools import partial

import msgspec

from levelfield import analysis
from levelfield.analysis import collect, whole_launch
from levelfield.analysis.estimates import ended_by, matrix
from levelfield.analysis.launch_levels import launch_levels, level_matrix
from levelfield.analysis.status import SMOKE
from levelfield.analysis.summary import answer_of, reduce
from levelfield.analysis.types import AnyRow, BlockAnalysis, Estimate
from levelfield.compare import changes, comparison, conclusion, drift, phrases
from levelfield.compare.effects import from_pairs
from levelfield.compare.rows import Draft, in_order, judge_rows
from levelfield.compare.sides import CaseResults, verdict_without_costs
from levelfield.compare.types import Comparison, Drift, Gate, Row, Side, Verdict
from levelfield.errors import LevelfieldError
from levelfield.images.catalogue import stem
from levelfield.record.schema import Arm, Block, Run
from levelfield.report import names, sentences, states, units
from levelfield.report.sentences import join
from levelfield.statistics.arrays import Floats
from levelfield.statistics.stopping import decide
from levelfield.statistics.student import LOOK_COST, MIN_LAUNCHES, TRIMMED_FROM, EndedBy, fewest_launches, mean_of

LABEL = "ab"
"""Of the runs that `ab` makes."""

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


def compare_arms(run: Run, gate: Gate, sha256: str) -> Comparison:
    """Compare B with A in every case. Raises LevelfieldError: the run does not have two arms in every block."""
    old, new = arms(run)
    rows = judge_arms(run, old, new, gate)
    before, after = reduce(_view(run, old, new), sha256), reduce(_view(run, new, old), sha256)
    pairs = [(old.id, new.id)]
    drifts = drift.find_drift(pairs, [before], [after], same_hardware=True)
    ended = max((ended_by(run.settings, block.case) for block in run.blocks), key=list(_ENDS).index)
    around = changes.compare_environments([before], [after], pairs)
    found = Comparison(
        answer=answer(rows, drifts, gate),
        exit_code=0,
        kind="ab",
        old=Side(old.id, (before.facts,)),
        new=Side(new.id, (after.facts,)),
        notes=(comparison.note_on_changes(around), *_notes(run, old, new), *_notes_on_launchers(run, old, new, rows)),
        rows=rows,
        drifts=drifts,
        changes=around,
        gate=gate,
        method=METHOD.format(q=100 * gate.q, margin=100 * gate.margin, ends=_ENDS[ended]),
        order="turns",
        replicate="launch",
        same_hardware=True,
    )
    return msgspec.structs.replace(found, exit_code=conclusion.exit_code(found))


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
    """Return the run with one of its arms alone."""
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


_ANSWERS_NOW = {
    Verdict.MENDED: "is equal to the reference in {share}, where the answer of {old} was wrong",
    Verdict.RECOVERED: "answers in {share}, where {old} failed",
    Verdict.ADDED: "answers in {share}, where {old} did not",
}


def answer(rows: Sequence[Row], drifts: Sequence[Drift], gate: Gate) -> str:
    """Return the comparison in one line: the new arm, the old arm, in how many cases they differ and by how much."""
    if not rows:
        return "Nothing was compared."
    old, new = rows[0].old_arm, rows[0].new_arm
    total = "the only case" if len(rows) == 1 else f"{len(rows)} cases"
    phrases_by_verdict = {
        Verdict.SLOWER: "is slower than",
        Verdict.FASTER: "is faster than",
        Verdict.MORE_MEMORY: "takes more memory than",
        Verdict.LESS_MEMORY: "takes less memory than",
    }
    clauses = []
    for verdict, phrase in phrases_by_verdict.items():
        found = [row for row in rows if row.verdict is verdict]
        if found:
            clauses.append(f"{phrase} {old} in {_share_of_cases(len(found), len(rows))} ({_largest(found)})")
    same = sum(row.verdict is Verdict.SAME for row in rows)
    if same:
        clauses.append(f"is the same within {100 * gate.margin:g} % in {_share_of_cases(same, len(rows))}")
    for verdict, what in _ANSWERS_NOW.items():
        found = [row for row in rows if row.verdict is verdict]
        if found:
            clauses.append(what.format(share=_share_of_cases(len(found), len(rows)), old=old))
    text = f"{new} " + "; ".join(clauses) if clauses else ""
    broken = [row for row in rows if row.verdict in {Verdict.FAILED, Verdict.UNEQUAL}]
    if broken:
        text += f"{'; ' if text else f'{new} '}gives no valid answer in {_share_of_cases(len(broken), len(rows))}"
    open_ = sum(row.verdict in {Verdict.INCONCLUSIVE, Verdict.UNDECIDABLE, Verdict.MISSING} for row in rows)
    if open_:
        where = _share_of_cases(open_, len(rows))
        text = (
            f"{text}; {where} could not be decided"
            if text
            else f"Whether {new} differs from {old} could not be decided in {total}"
        )
    return " ".join(part for part in (f"{text}.", conclusion.numerics(drifts)) if part)


def _share_of_cases(count: int, total: int) -> str:
    if total == 1:
        return "the only case"
    return f"all {total} cases" if count == total else f"{count} of {total} cases"


def _largest(found: Sequence[Row]) -> str:
    """Name the largest of some changes, with its interval."""
    row = max(found, key=lambda row: abs(math.log(row.ratio.value)) if row.ratio else 0.0)
    case = phrases.case(row)
    if row.ratio is None or row.ratio.low is None or row.ratio.high is None:
        return case
    value, low, high = (units.percent(each - 1, signed=True) for each in (row.ratio.value, row.ratio.low, row.ratio.high))
    return f"{'most: ' if len(found) > 1 else ''}{case}: {value}, {low} to {high}"


def judge_arms(run: Run, old: Arm, new: Arm, gate: Gate) -> tuple[Row, ...]:
    """Judge every case of a run with two arms; worse ones first."""
    blocks = analysis.analyse(run).blocks
    drafts = [_draft(run, block, analysed, (old, new)) for block, analysed in zip(run.blocks, blocks, strict=True)]
    return in_order(judge_rows(drafts, gate))


def _draft(run: Run, block: Block, analysed: BlockAnalysis, arms: tuple[Arm, Arm]) -> Draft:
    ended = ended_by(run.settings, block.case)
    fewest = fewest_launches(ended)
    rows: dict[str, AnyRow] = {row.arm: row for row in analysed.rows}
    before, after = (CaseResults(1, (answer_of(rows[arm.id], block, arm),)) for arm in arms)
    levels = launch_levels(block)
    old, new = (levels[arm.id] for arm in arms)
    common = sorted(old.keys() & new.keys())
    first, second = matrix({"old": old, "new": new}, common).T
    found = verdict_without_costs(before, after)
    if found is None and len(common) < fewest:
        launched = "launch" if len(common) == 1 else "launches"
        reason = f"{len(common)} {launched} of both arms, and a verdict takes {fewest}"
        found = Verdict.UNDECIDABLE, "undecided", reason
    effect = from_pairs(mean_of(second - first, ended)) if found is None else None
    verdict, outcome, reason = found or (Verdict.INCONCLUSIVE, "undecided", "")
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


class _Launchers(msgspec.Struct, frozen=True):
    """The two arms, by how far they are from the machine."""

    outer: Arm
    inner: Arm
    outer_launcher: str
    inner_launcher: str
    turned: bool
    """The comparison's ratios are inner over outer."""


def _by_launcher(run: Run, old: Arm, new: Arm) -> _Launchers | None:
    """Return which arm has more layers between it and the machine; None where both have the same launcher."""
    own = run.settings.launcher
    first, second = (arm.launcher or own for arm in (old, new))
    if first == second:
        return None
    if _FURTHEST_FIRST.index(second) < _FURTHEST_FIRST.index(first):
        return _Launchers(new, old, second, first, turned=False)
    return _Launchers(old, new, first, second, turned=True)


def _notes_on_launchers(run: Run, old: Arm, new: Arm, rows: Sequence[Row]) -> tuple[str, ...]:
    """Return the cost of one launcher over the other; nothing where both arms have the same one."""
    sides = _by_launcher(run, old, new)
    if sides is None:
        return ()
    where = f"{sides.outer.id} ran {_WHERE[sides.outer_launcher]}, {sides.inner.id} {_WHERE[sides.inner_launcher]}."
    other = _other_differences(run, sides)
    if other:
        return (
            f"{where} They differ in more than that ({other}): what the launcher costs cannot be separated from that.",
        )
    costs = tuple(_costs(run, sides, rows))
    return (where, *costs) if costs else (f"{where} What that costs was not measured.",)


def _other_differences(run: Run, sides: _Launchers) -> str:
    """Return in what the arms differ beside the launcher."""
    alike = msgspec.structs.replace(sides.inner, ordinal=sides.outer.ordinal, launcher=sides.outer.launcher)
    if alike != sides.outer:
        return "backend, version, settings or an injected slowdown"
    versions = {
        arm.id: sorted(
            {
                launch.framework_version
                for block in run.blocks
                for _, launch in collect.launches(block, arm.id)
                if launch.framework_version
            }
        )
        for arm in (sides.outer, sides.inner)
    }
    if all(versions.values()) and versions[sides.outer.id] != versions[sides.inner.id]:
        first, second = (join(versions[arm.id]) for arm in (sides.outer, sides.inner))
        return f"version {first} and {second}"
    return ""


def _costs(run: Run, sides: _Launchers, rows: Sequence[Row]) -> Iterator[str]:
    """Yield one sentence for each scenario: the cost for every model."""
    rows_by_case = {row.case.id: row for row in rows}
    several = len({block.case.threads for block in run.blocks}) > 1
    costs: dict[str, list[str]] = {}
    for block in run.blocks:
        row = rows_by_case.get(block.case.id)
        if row is not None and row.ratio is not None:
            cost = _percents(row.ratio, turned=sides.turned)
            costs.setdefault(phrases.metric(row.metric), []).append(f"{_case_of_cost(block, threads=several)} {cost}")
    for metric, of_cases in costs.items():
        by_case = "; ".join(of_cases)
        yield f"What {_NAMES[sides.outer_launcher]} costs in {metric}, over {_NAMES[sides.inner_launcher]}: {by_case}."


def _case_of_cost(block: Block, *, threads: bool) -> str:
    case = block.case
    parts = [phrases.clean(names.network(case), 60)]
    parts += [f"batch {case.batch}"] if case.per_item else []
    parts += [phrases.clean(case.precision, 40)] if case.precision != "fp32" else []
    parts += [units.plural(case.threads, "thread")] if threads else []
    return ", ".join(parts)


def _percents(ratio: Estimate, *, turned: bool) -> str:
    """`+1.2 % (+0.4 % to +2.0 %)` of a ratio of costs."""
    found = (ratio.inverse if turned else ratio).extra
    text = units.within(found, partial(units.percent, signed=True), to=" to ")
    return text if found.low is not None else f"{text} (fewer than {MIN_LAUNCHES} launches, so no interval)"
