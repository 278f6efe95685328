"""What made two arms of an `ab` differ: the operators whose time moved, from profiles of both arms in turns."""

import math
import statistics
from collections.abc import Iterable, Sequence
from pathlib import Path

import msgspec
import numpy as np
from rich.console import Console
from rich.markup import escape

from levelfield import scenarios, terminals
from levelfield.compare.ab import arms
from levelfield.compare.types import Row, Verdict
from levelfield.errors import printable
from levelfield.launchers.needs import choose, launchers_by_name
from levelfield.plan import of_record
from levelfield.record.files import write_atomically
from levelfield.report.progress import opened
from levelfield.report.tables import Cell, Column, make, rendered
from levelfield.run.ab import AbResult
from levelfield.run.explain import ExplainRequest, profile_pairs, rows
from levelfield.run.options import Options
from levelfield.schedule.preparation import prepare
from levelfield.schedule.resources import remove_caches
from levelfield.statistics.arrays import Floats
from levelfield.statistics.student import mean_of
from levelfield.statistics.verdicts import DEFAULT_Q, benjamini_hochberg
from levelfield.worker.messages import Profiled


class Change(msgspec.Struct, frozen=True):
    """What one kind of operator, or the whole call, takes in both arms; microseconds in one call of the model."""

    name: str
    old_us: float
    new_us: float
    difference_us: float
    """New less old: the mean over pairs of launches."""
    low_us: float
    high_us: float
    """Its interval."""
    differs: bool
    """Whether it differs, at a false discovery rate of 1 % over all operators."""


class Difference(msgspec.Struct, frozen=True):
    """Two arms' profiles, side by side."""

    case: str
    old: str
    new: str
    launches: int
    """Of each arm; they took turns."""
    call: Change
    """The call without the profiler, in the same launches."""
    operators: tuple[Change, ...]
    """The largest difference first."""
    slowdown: float
    """Of a call, by the profiler; the larger of both arms."""
    source: str
    """The profiler."""

    @property
    def accounted(self) -> float:
        """Return the share of the call's difference that all operators' differences add up to."""
        whole = self.call.difference_us
        return sum(each.difference_us for each in self.operators) / whole if whole else math.nan


def compare_profiles(case: str, old: str, new: str, pairs: Sequence[tuple[Profiled, Profiled]]) -> Difference:
    """Compare the operators of two arms.

    `pairs`: a profile of a launch of each arm, made one after the other; at least two pairs.
    """
    tables = [
        tuple({row.operator: row.self_us for row in rows(each, by_layer=False)} for each in pair) for pair in pairs
    ]
    names = sorted({name for pair in tables for table in pair for name in table})
    times = {
        name: (_array(pair[0].get(name, 0.0) for pair in tables), _array(pair[1].get(name, 0.0) for pair in tables))
        for name in names
    }
    tests = [mean_of(second - first).p_value for first, second in times.values()]
    found = benjamini_hochberg(tests).found if tests else ()
    level = DEFAULT_Q * max(sum(found), 1) / max(len(names), 1)
    operators = [
        _change(name, *times[name], confidence=1 - level, differs=differs)
        for name, differs in zip(names, found, strict=True)
    ]
    plain = [_array(statistics.median(each.plain_ns) / 1000 for each in side) for side in zip(*pairs, strict=True)]
    whole = mean_of(plain[1] - plain[0]).p_value <= DEFAULT_Q
    return Difference(
        case=case,
        old=old,
        new=new,
        launches=len(pairs),
        call=_change("the whole call", plain[0], plain[1], confidence=1 - DEFAULT_Q, differs=whole),
        operators=tuple(sorted(operators, key=lambda each: -abs(each.difference_us))),
        slowdown=max(
            statistics.median(statistics.median(each.profiled_ns) / statistics.median(each.plain_ns) for each in side)
            for side in zip(*pairs, strict=True)
        ),
        source=pairs[0][0].source,
    )


def _array(values: Iterable[float]) -> Floats:
    return np.fromiter(values, dtype=np.float64)


def _change(name: str, old: Floats, new: Floats, *, confidence: float, differs: bool) -> Change:
    differences = new - old
    mean = mean_of(differences)
    low, high = mean.value - mean.half_width(confidence), mean.value + mean.half_width(confidence)
    return Change(name, float(old.mean()), float(new.mean()), mean.value, low, high, differs)


LAUNCHES = 7
"""Of each arm of a case: means of more are trimmed, and trimmed differences of operators do not add up."""
NAME = "operators.json"
"""File beside the record."""
MOST_ROWS = 10


def explainable(found: AbResult) -> tuple[list[Row], str]:
    """Return the cases of an `ab` whose operators can be compared, largest difference first, and why others cannot."""
    old, new = arms(found.run)
    different = [row for row in found.comparison.rows if row.verdict in {Verdict.SLOWER, Verdict.FASTER}]
    if not different:
        return [], "No case differs in time, so there is nothing to explain."
    if old.backend != new.backend:
        return [], f"The operators of {old.backend} and {new.backend} have no names in common."
    if new.inject or old.inject:
        return [], "An arm was slowed down on purpose: no operator is to blame."
    profiled = [row for row in different if scenarios.get(row.case.scenario).profiled and row.case.device == "cpu"]
    if not profiled:
        return [], "Operators are profiled in latency, throughput and training on the CPU, and no such case differs."
    return sorted(profiled, key=lambda row: abs(row.ratio.value - 1) if row.ratio else 0.0, reverse=True), ""


def explain(found: AbResult, options: Options, console: Console) -> list[Difference]:
    """Profile both arms of the case that differs most, and write what was found beside the record."""
    rows, nothing = explainable(found)
    if not rows:
        console.print(escape(nothing), highlight=False)
        return []
    made = of_record(found.run)
    launcher, _ = choose(found.run.settings.launcher, base=options.base)
    launchers = launchers_by_name((arm.launcher for arm in made.answering), launcher, base=options.base)
    pair = arms(found.run)
    case = rows[0].case
    plan = msgspec.structs.replace(made, blocks=tuple(block for block in made.blocks if block.case == case))
    with opened(console) as listener:
        resources = prepare(plan, launcher, listener, launchers=launchers, judged=False)
        old, new = (ExplainRequest(f"{arm.id}/{case.id}", arm, case, plan) for arm in pair)
        try:
            profiles = profile_pairs(old, new, resources, listener, launches=LAUNCHES)
        finally:
            remove_caches(resources.caches)
    differences = [compare_profiles(case.id, pair[0].id, pair[1].id, profiles)]
    write_atomically(_file(found), msgspec.json.format(msgspec.json.encode(differences), indent=2) + b"\n")
    return differences


def _file(found: AbResult) -> Path:
    return found.folder / NAME


CHANGES: tuple[Column[Change], ...] = (
    Column("operator", lambda it: it.name, numeric=False),
    Column("old µs", lambda it: f"{it.old_us:,.0f}"),
    Column("new µs", lambda it: f"{it.new_us:,.0f}"),
    Column("difference µs", lambda it: Cell(f"{it.difference_us:+,.0f}", f"{it.low_us:+,.0f} to {it.high_us:+,.0f}")),
    Column("", lambda it: "differs" if it.differs else "", numeric=False),
)


def show(differences: list[Difference], found: AbResult, console: Console) -> None:
    for each in differences:
        terminals.say(console, f"{each.case}: operators of {each.new}", "bold")
        terminals.show(console, [rendered(make("", CHANGES, (each.call, *each.operators[:MOST_ROWS])))])
        terminals.say(console, sentence(each))
    if differences:
        terminals.say(console, f"Operators: {_file(found)}")


def sentence(found: Difference) -> str:
    """Say which operators take longer or shorter, and how far that accounts for the difference of the call."""
    moved = [change for change in found.operators if change.differs]
    if moved:
        names = ", ".join(f"{printable(each.name)} {each.difference_us:+,.0f} µs" for each in moved[:MOST_ROWS])
        text = f"What differs: {names}."
    else:
        text = "No kind of operator was shown to differ."
    if found.call.differs:
        text += f" All operators together account for {found.accounted:.0%} of the call's difference."
    return (
        f"{text} {found.launches} launches of each arm in turns, by {printable(found.source)}, under which a call "
        f"takes up to {found.slowdown:.2f} times as long; intervals at a false discovery rate of 1 %."
    )
