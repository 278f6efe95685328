"""The answer at a glance: models and scenarios across, arms down, and in each cell the extra time over the fastest arm.

A bar begins at the fastest arm's time, so that its length is what the arm takes more. One slow arm would leave nothing
to see of the others: bars end at a round number that most of them stay below, and longer ones are cut and marked.
"""

import math
from collections.abc import Sequence
from typing import TypeAlias

import msgspec

from levelfield.analysis import Analysis
from levelfield.analysis.types import ConvergenceBlock, Estimate, RankedRow, TimedBlock
from levelfield.record.schema import Case
from levelfield.report import names, operators, sentences, units
from levelfield.report.charts import reach
from levelfield.report.sentences import Relation

MOST_COLUMNS = 7
"""Columns that fit side by side; more are divided by scenario."""
SHOWN_TABLES = 3
"""Tables that are shown; what follows is folded."""
Ranked: TypeAlias = TimedBlock | ConvergenceBlock


_STANDINGS = {"unequal": "not equal", "shown": "not ranked"}
"""What a cell says of an arm without a rank, where it is not the standing itself."""


class Bar(msgspec.Struct, frozen=True):
    """Extra time over the fastest arm; positions are percents of the width."""

    width: float
    cut: bool
    """It is longer than what is drawn."""
    low: float | None = None
    high: float | None = None
    beyond: bool = False
    """Its interval goes on to the right of what is drawn."""


class Cell(msgspec.Struct, frozen=True):
    value: str
    """`best`, `+15 %`, `3.40×`, or its standing where it has no rank."""
    under: str
    """The interval of the value; of the best arm, its time or rate."""
    word: str = ""
    """`equal` or `not separated`; empty where the best is faster."""
    best: bool = False
    joined: bool = False
    """Whether it is not separated from the best, or is the best and another arm is not separated from it."""
    bar: Bar | None = None
    hover: str = ""
    """All of it in words, with the arm's own time or rate."""


class Column(msgspec.Struct, frozen=True):
    case: Case
    title: str
    what: str
    """Scenario, batch, and what else distinguishes it from the others."""
    anchor: str


class Line(msgspec.Struct, frozen=True):
    arm: str
    backend: str
    cells: tuple[Cell, ...]


class Table(msgspec.Struct, frozen=True):
    """Cases side by side."""

    title: str
    columns: tuple[Column, ...]
    lines: tuple[Line, ...]
    """The arm with the least mean logarithm of its ratios first."""
    end: str
    """Extra time at which bars end."""
    cut: bool
    """Whether any bar is cut."""
    beyond: bool
    """Whether any interval is."""
    joined: bool
    """Whether any arm is not separated from a best one."""
    crossed: tuple[str, ...] = ()
    """Why an arm is not separated from the best though one with a better estimate is slower, case by case."""


def tables(analysis: Analysis, anchors: Sequence[str]) -> tuple[Table, ...]:
    """Return the overview of all cases that are ranked; none where none is."""
    timed = [(block, anchor) for block, anchor in zip(analysis.timed, anchors, strict=False)]
    found: list[tuple[Ranked, str]] = [each for each in timed if not operators.is_one(each[0])]
    found += [(block, "convergence") for block in analysis.convergence]
    ranked = [(block, anchor) for block, anchor in found if block.best is not None]
    if len(ranked) <= MOST_COLUMNS:
        return (_table("All cases", ranked),) if ranked else ()
    groups: dict[str, list[tuple[Ranked, str]]] = {}
    for block, anchor in ranked:
        groups.setdefault(names.scenario(block.case.scenario), []).append((block, anchor))
    return tuple(
        _table(title, group[start : start + MOST_COLUMNS])
        for title, group in groups.items()
        for start in range(0, len(group), MOST_COLUMNS)
    )


def _table(title: str, found: Sequence[tuple[Ranked, str]]) -> Table:
    blocks = [block for block, _ in found]
    rows = [{row.arm: row for row in block.rows} for block in blocks]
    end = reach([row.ratio.value - 1 for block in blocks for row in block.rows if row.ratio is not None])
    backends = {row.arm: row.backend for block in blocks for row in block.rows if row.standing != "control"}
    lines = [
        Line(arm, backend, tuple(_cell(of.get(arm), block, end) for of, block in zip(rows, blocks, strict=True)))
        for arm, backend in backends.items()
    ]
    lines.sort(key=lambda line: _mean_log([of[line.arm] for of in rows if line.arm in of]))
    cells = [cell for line in lines for cell in line.cells]
    return Table(
        title=title,
        columns=tuple(_column(block, anchor, blocks) for block, anchor in found),
        lines=tuple(lines),
        end=units.behind(Estimate(1 + end, None, None))[0],
        cut=any(cell.bar is not None and cell.bar.cut for cell in cells),
        beyond=any(cell.bar is not None and cell.bar.beyond for cell in cells),
        joined=any(cell.joined for cell in cells),
        crossed=tuple(f"{names.network(block.case)}: {said}" for block in blocks if (said := sentences.crossed(block))),
    )


def _column(block: Ranked, anchor: str, among: Sequence[Ranked]) -> Column:
    case = block.case
    if isinstance(block, ConvergenceBlock):
        what = [f"training to {sentences.goal(block)}"]
    else:
        what = [f"{names.scenario_title(case)}{names.batch(case)}"]
    what += sentences.precisions_apart(block, among)
    return Column(case, names.network(case), ", ".join(what), anchor)


def _cell(row: RankedRow | None, block: Ranked, end: float) -> Cell:
    if row is None:
        return Cell(units.NO_VALUE, "")
    if row.ratio is None:
        return Cell(_STANDINGS.get(row.standing, row.standing), "")
    relations = {sentences.relation(each) for each in block.rows if each.arm != block.best}
    if row.arm == block.best:
        tied = bool(relations & {Relation.EQUAL, Relation.NOT_SEPARATED})
        cost = sentences.plain_cost(row, block)
        return Cell("best", cost, best=True, joined=tied, bar=Bar(0.0, cut=False), hover=f"{row.arm}: {cost}, best")
    known = sentences.relation(row)
    word = known.value if known in (Relation.EQUAL, Relation.NOT_SEPARATED) else ""
    value, under = units.behind(row.ratio)
    extra = row.ratio.extra
    place = extra.each(lambda share: round(100 * min(max(share / end, 0.0), 1.0), 2))
    beyond = extra.high is not None and extra.high > end
    bar = Bar(place.value, cut=extra.value > end, low=place.low, high=place.high, beyond=beyond)
    hover = ", ".join(
        filter(None, (f"{row.arm}: {sentences.plain_cost(row, block)}", value, f"95 % {under}" * bool(under)))
    )
    return Cell(value, under, word=word, joined=bool(word), bar=bar, hover=f"{hover}{word and f', {word}'}")


def _mean_log(rows: Sequence[RankedRow]) -> float:
    logs = [math.log(row.ratio.value) for row in rows if row.ratio is not None]
    return sum(logs) / len(logs) if logs else math.inf
