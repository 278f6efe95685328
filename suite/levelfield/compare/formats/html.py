"""A comparison as one HTML file: the report's own look, no request to anywhere, readable without JavaScript.

Its chart shows ratios, worst first, each with its interval, on one axis with the margin as a band. The axis is
logarithmic, so that 2 times as slow and 2 times as fast are equally far from no change, and it ends where most rows lie
inside: a row beyond it stands at the edge, is marked, and has its value beside it.
"""

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal, TypeAlias

import jinja2
import msgspec
from markupsafe import Markup

from levelfield.compare import phrases, tables
from levelfield.compare.types import Comparison, Outcome, Row, State
from levelfield.report import html as report
from levelfield.report import names, pages, units
from levelfield.report.charts import Tick, reach
from levelfield.report.tables import Table, make
from levelfield.version import __version__

TEMPLATES = Path(__file__).parent.parent / "templates"


def write(comparison: Comparison) -> str:
    """Return the comparison as a page, to be written as UTF-8."""
    return pages.render(_template("comparison.html.j2"), style=pages.style(), **_shown(comparison))


def within(comparison: Comparison) -> report.Compared:
    """Return the comparison as the answer and the sections of the report of the run that it is about."""
    sections = _template("comparison_within.html.j2").render(_shown(comparison))
    return report.Compared(phrases.title(comparison), phrases.first_line(comparison), Markup(sections))  # noqa: S704


def _template(name: str) -> jinja2.Template:
    return pages.templates(TEMPLATES, pages.TEMPLATES).get_template(name)


def _shown(comparison: Comparison) -> dict[str, Any]:
    """Return what the templates show, by the name that they give it."""
    moved, judged = comparison.moved, tables.judged(comparison.rows, comparison.replicate)
    runs = [(name, run) for name, side in (("old", comparison.old), ("new", comparison.new)) for run in side.runs]
    many = f"{len(moved)} of {len(comparison.drifts)} answers are not identical, bit by bit."
    return {
        "comparison": comparison,
        "moved": moved,
        "changes": len(comparison.changed),
        "names": names,
        "chart": ratio_chart(comparison.rows, comparison.gate.margin),
        "margin": units.percent(comparison.gate.margin) if comparison.gate.derived is None else "",
        "settings": make(_SETTINGS, tables.SETTINGS, comparison.settings),
        "cases": make(_CASES, tables.CASES, judged),
        "answers": make(many, tables.ANSWERS, moved),
        "changed": _facts(comparison, "Changes", "changed", "varies"),
        "unrecorded": _facts(comparison, "Not recorded", "unrecorded"),
        "same": _facts(comparison, "What stayed the same", "same"),
        "runs": make(_RUNS, tables.RUNS, runs),
        "version": __version__,
        "words": phrases,
    }


_SETTINGS = "Facts of the machine that differ between the old and the new stack."
_CASES = "Cost of the new side over the old one: above 1 is worse. Worse cases first."
_RUNS = "The records that were compared; a digest is of the whole file."


def _facts(comparison: Comparison, what: str, *states: State) -> list[tuple[str, Table]]:
    """Return the title of each group of facts, and a table of those in one of these states."""
    columns = tables.SAME if states == ("same",) else tables.FACTS
    found = []
    for group in comparison.changes:
        rows = [("", change) for change in group.changes if change.state in states]
        if rows:
            title, many = phrases.clean(group.title), f"{len(rows)} of {len(group.changes)} facts."
            found.append((title, make(many, columns, rows, label=f"{what}: {title}")))
    return found


MOST_ROWS = 40
"""Rows that are drawn; the table below has all."""
_FEWEST_MARGINS = 2.0
"""The axis reaches at least so many margins to either side."""
_PERCENT_BELOW = 0.5
"""Axes that end before this difference have their ticks in percent; others have multiples."""

Beyond: TypeAlias = Literal["", "left", "right"]


class Mark(msgspec.Struct, frozen=True):
    """One row; positions are percents of the width."""

    who: str
    what: str
    value: str
    outcome: Outcome
    verdict: str
    at: float
    low: float | None
    high: float | None
    beyond: Beyond
    """At which edge it stands, because the axis ends before it."""


class RatioChart(msgspec.Struct, frozen=True):
    """Rows one below the other on one axis of new over old."""

    marks: tuple[Mark, ...]
    ticks: tuple[Tick, ...]
    band: tuple[float, float]
    """Start and width of what lies inside the margin."""
    left_out: int
    """Rows with a ratio that are not drawn."""

    @property
    def cut(self) -> bool:
        """Whether any row lies beyond the axis."""
        return any(mark.beyond for mark in self.marks)

    @property
    def summary(self) -> str:
        """The chart in words, for readers who cannot see it."""
        return "; ".join(f"{mark.who}, {mark.what}: {mark.value}, {mark.verdict}" for mark in self.marks)


def ratio_chart(rows: Sequence[Row], margin: float) -> RatioChart | None:
    """Return a chart of the rows that have a ratio; None where none has."""
    found = [(row, row.ratio) for row in rows if row.ratio is not None and 0 < row.ratio.value < math.inf]
    if not found:
        return None
    drawn = [
        each for _, ratio in found for each in (ratio.value, ratio.low, ratio.high) if each is not None and each > 0
    ]
    end = max(reach([math.expm1(abs(math.log(each))) for each in drawn]), _FEWEST_MARGINS * margin)
    span = math.log1p(end)

    def at(value: float) -> float:
        return 50 * (1 + math.log(value) / span) if value > 0 else -1.0

    def inside(value: float) -> float:
        return round(min(max(at(value), 0.0), 100.0), 2)

    marks = []
    for row, ratio in found[:MOST_ROWS]:
        place = at(ratio.value)
        beyond: Beyond = "left" if place < 0 else "right" if place > 100 else ""
        who, what, value = phrases.arms(row), phrases.case(row, brief=True), phrases.ratio(ratio)
        mark = ratio.each(inside)
        marks.append(Mark(who, what, value, row.outcome, row.verdict, mark.value, mark.low, mark.high, beyond))
    start = inside(1 / (1 + margin))
    ticks = tuple(Tick(label=label, at=inside(value)) for label, value in _ticks(end))
    return RatioChart(tuple(marks), ticks, (start, round(inside(1 + margin) - start, 2)), len(found) - len(marks))


def _ticks(end: float) -> list[tuple[str, float]]:
    """Return labels and ratios of the ticks: in percent, or as multiples where the axis is long."""
    if end < _PERCENT_BELOW:
        half = end / 2
        return [
            ("no change" if share == 0 else units.percent(share, signed=True), 1 + share)
            for share in (-half, 0.0, half, end)
        ]
    factor = 1 + end
    middle = math.sqrt(factor)
    return [
        (f"{units.digits(value, 2)}×" if value != 1 else "no change", value)
        for value in (1 / factor, 1 / middle, 1.0, middle, factor)
    ]
