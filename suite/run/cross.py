"""`ab A B --cross C`: all combinations of changes in one run, and what each change does by itself and with others.

Whoever compares two changes one at a time finds that both are guilty, or that neither is, where they only act together.
Here all combinations take turns in every generation (`suite.statistics.factorial`).
"""

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Literal

import msgspec
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from suite import analysis, plan
from suite.analysis.types import Estimate
from suite.compare.conclusion import FINE, UNDECIDED, WORSE
from suite.compare.cross import CrossEffect, judge_cross
from suite.compare.phrases import factor
from suite.compare.types import Gate
from suite.errors import LevelfieldError, printable
from suite.plan.crossing import Axis, cross
from suite.record import files, journal
from suite.record.schema import Run
from suite.report import sentences, units
from suite.run import bench
from suite.run.options import Options
from suite.run.results import show_result
from suite.statistics.student import FIRST_LOOK
from suite.statistics.verdicts import Verdict

LABEL = "cross"
"""Of the runs that are made here."""
NAME = "cross.json"
"""File beside the record."""

Finding = Literal["slower", "faster", "larger together", "smaller together", "same", "undecided"]

_ALONE: dict[Verdict, Finding] = {Verdict.SLOWER: "slower", Verdict.FASTER: "faster", Verdict.SAME: "same"}
_TOGETHER: dict[Verdict, Finding] = {
    Verdict.SLOWER: "larger together",
    Verdict.FASTER: "smaller together",
    Verdict.SAME: "same",
}


class Effect(msgspec.Struct, frozen=True):
    """What a change does to a case, or what changes do together beyond what each does."""

    case: str
    changes: tuple[str, ...]
    """One: its effect, averaged over the others. More: their interaction, a ratio of ratios."""
    ratio: Estimate
    confidence: float
    """Of the interval."""
    p_adjusted: float
    """Corrected for the number of effects (false discovery rate)."""
    finding: Finding


class Crossed(msgspec.Struct, frozen=True):
    """Result of `ab --cross`; the file beside the record."""

    run: str
    arms: tuple[str, ...]
    """The base first; the last change varies fastest."""
    changes: tuple[str, ...]
    margin: float
    false_discovery_rate: float
    effects: tuple[Effect, ...]
    unequal: tuple[str, ...]
    """Arms and cases whose answer is not equal to the reference, or that gave none: nothing is said of these cases."""


def measure(first: str, others: Sequence[str], options: Options, gate: Gate, console: Console) -> tuple[Path, Crossed]:
    """Measure all combinations of changes, until every effect has a verdict or the budget is spent.

    Parameters
    ----------
    first
        The arm that is changed.
    others
        Two or three arms that each differ from it by one change.
    options
        As for `bench`; the backends of the selection are not used.
    gate
        The margin holds for interactions too, which are ratios of ratios.
    console
        Where to show the progress.

    Returns
    -------
    tuple of Path and Crossed
        The run's folder, and what was found; it is written there.

    Raises
    ------
    LevelfieldError
        The changes cannot be crossed, the run is to be resumed, or nothing could be measured.
    """
    if options.resume is not None:
        raise LevelfieldError(
            "A run of crossed changes cannot be taken up again.", fix="Leave --resume out, and give a larger --budget."
        )
    axes, arms = cross(first, others)
    chosen = plan.several(options.selection, arms)
    ends = options.precision_target is None and options.selection.profile != "smoke"
    options = msgspec.structs.replace(options, labels=(LABEL, *options.labels), ends_on_verdict=ends)
    if ends:
        chosen = plan.with_timed_launches(chosen, FIRST_LOOK)
    folder = bench.conduct(chosen, options, console, undecided=partial(undecided, axes=axes, gate=gate))
    run = journal.fold(journal.read(folder / files.JOURNAL))
    files.write(run, folder)
    found = result(run, axes, gate)
    files.write_atomically(folder / NAME, msgspec.json.format(msgspec.json.encode(found), indent=2) + b"\n")
    return folder, found


def undecided(run: Run, axes: Sequence[Axis], gate: Gate) -> dict[str, str]:
    """Return the cases of a run in progress in which an effect has no verdict yet.

    Parameters
    ----------
    run
        The record so far.
    axes, gate
        What was asked.

    Returns
    -------
    dict of str to str
        Id of the case to what is known of it. A case with an arm whose answer is not equal is decided: it has no
        effects.
    """
    found = result(run, axes, gate)
    judged = {effect.case for effect in found.effects}
    open_: dict[str, list[str]] = {
        block.case.id: [] for block in run.blocks if block.case.timed and block.case.id not in judged
    }
    for effect in found.effects:
        if effect.finding == "undecided":
            open_.setdefault(effect.case, []).append(f"{_named(effect)}: {_interval(effect)}")
    broken = {case for case in open_ if any(name.endswith(f"/{case}") for name in found.unequal)}
    return {
        case: "; ".join(reasons) or "too few launches of all" for case, reasons in open_.items() if case not in broken
    }


def result(run: Run, axes: Sequence[Axis], gate: Gate) -> Crossed:
    """Return what a run shows of the effects of its changes.

    Parameters
    ----------
    run
        The record, finished or not.
    axes, gate
        What was asked.
    """
    answers = analysis.analyse(run)
    unequal = (*answers.status.unequal, *answers.status.failed)
    effects = [
        _effect(each)
        for each in judge_cross(run, [axis.name for axis in axes], gate)
        if not any(name.endswith(f"/{each.case.id}") for name in unequal)
    ]
    return Crossed(
        run=run.id,
        arms=tuple(arm.id for arm in run.blocks[0].arms),
        changes=tuple(axis.name for axis in axes),
        margin=gate.margin,
        false_discovery_rate=gate.q,
        effects=tuple(effects),
        unequal=unequal,
    )


def _effect(found: CrossEffect) -> Effect:
    judged = found.judgement
    words = _ALONE if len(found.axes) == 1 else _TOGETHER
    return Effect(
        case=found.case.id,
        changes=found.axes,
        ratio=judged.ratio,
        confidence=judged.confidence,
        p_adjusted=judged.p_adjusted,
        finding=words.get(judged.verdict, "undecided"),
    )


def exit_code(found: Crossed) -> int:
    """Return 1 where a change is slower, more so together, or an answer is not equal; 3 where anything is undecided."""
    findings = {effect.finding for effect in found.effects}
    if found.unequal or findings & {"slower", "larger together"}:
        return WORSE
    return FINE if findings and "undecided" not in findings else UNDECIDED


def sentence(found: Crossed, case: str) -> str:
    """Say in one line what the changes do to a case.

    Parameters
    ----------
    found
        The result.
    case
        Its id.
    """
    effects = [effect for effect in found.effects if effect.case == case]
    clauses = []
    for effect in effects:
        name, interval = _named(effect), _interval(effect)
        alone = len(effect.changes) == 1
        match effect.finding:
            case "same":
                clauses.append(
                    f"{name} makes no difference beyond ±{units.percent(found.margin)}"
                    if alone
                    else f"{name} do not interact"
                )
            case "undecided":
                what = name if alone else f"the interaction of {name}"
                clauses.append(f"{what} is not decided ({interval})")
            case _:
                clauses.append(
                    f"{name} makes it {effect.finding} ({interval})"
                    if alone
                    else f"{name} interact: the effect of one is {effect.finding} with the other ({interval})"
                )
    average = any(len(each.changes) > 1 and each.finding != "same" for each in effects)
    note = " Where changes interact, or may, the effect of each is an average over the others." if average else ""
    return f"{case}: {'; '.join(clauses)}.{note}"


def show(folder: Path, found: Crossed, console: Console) -> int:
    """Write the report beside the record, and show it with the effects of the changes.

    Parameters
    ----------
    folder, found
        As `measure` returns them.
    console
        Where to print.

    Returns
    -------
    int
        Exit code.
    """
    record = folder / files.NAME
    run = files.read(record)
    show_result(record, run, analysis.analyse(run), console, measured=True)
    table = Table()
    table.add_column("case", overflow="fold")
    table.add_column("change", overflow="fold")
    table.add_column("ratio", justify="right", no_wrap=True)
    table.add_column("")
    for effect in found.effects:
        table.add_row(*map(escape, (printable(effect.case), _named(effect), _interval(effect), effect.finding)))
    console.print(table)
    for name in found.unequal:
        console.print(escape(f"{printable(name)}: no effects, since its answer is not equal or missing."))
    for case in dict.fromkeys(effect.case for effect in found.effects):
        console.print(escape(sentence(found, case)), highlight=False, soft_wrap=True)
    console.print(f"Effects: {escape(str(folder / NAME))}", highlight=False, soft_wrap=True)
    return exit_code(found)


def _named(effect: Effect) -> str:
    return sentences.join(effect.changes)


def _interval(effect: Effect) -> str:
    ratio = effect.ratio
    if ratio.low is None or ratio.high is None:
        return factor(ratio.value)
    return f"{factor(ratio.value)} ({factor(ratio.low)}–{factor(ratio.high)})"
