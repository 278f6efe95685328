"""The trends of one machine as a page: every result that was measured more than once, those that changed first.

Each is a small chart: time across, the value upwards, a band of the margin around the level of today, and a line
where a level begins, with what differs between the environments of the runs on both sides of it.
"""

import math
import statistics
from collections.abc import Iterable, Sequence
from datetime import datetime

import msgspec

from levelfield.analysis.summary import Summary
from levelfield.compare import trend
from levelfield.compare.trend import ChangePoint, Point, SeriesTrend, Trend
from levelfield.compare.trend_show import answer, fact_value, failing, value
from levelfield.names import plural

MARGIN = 0.02
WIDTH, HEIGHT, EDGE = 640, 150, 8
"""Of a chart, in the units of its view box."""
_BANDS = 2.0
"""A chart reaches at least so many margins around the level of today, so that noise does not look like a change."""
MOST_FACTS = 8
"""Facts that are named of those that differ at a change."""


class Dot(msgspec.Struct, frozen=True):
    x: float
    y: float
    label: str
    changed: bool
    """A new level begins here."""


class Step(msgspec.Struct, frozen=True):
    """A run from which on the level is another one."""

    x: float
    day: str
    before: str
    """Id of the last run of the old level."""
    run: str
    facts: tuple[str, ...]
    """What differs between the environments of the two runs; of more than `MOST_FACTS` the rest is counted."""
    more: int


class Band(msgspec.Struct, frozen=True):
    """The margin around the level of today."""

    x: float
    width: float
    y: float
    height: float


class Line(msgspec.Struct, frozen=True):
    """One result's trend."""

    result: str
    says: str
    dots: tuple[Dot, ...]
    steps: tuple[Step, ...]
    band: Band
    moved: float
    """Size of the newest change or of the drift, as a logarithm; 0: the level is what it was; infinite: it fails."""
    first: str
    last: str
    """Days of the first and of the last run with a number."""
    path: str
    """Points for a polyline."""
    top: str
    bottom: str
    """Values at the upper and lower edge, with units."""
    latest: str
    missing: int
    """Runs with a number that a change cannot be called without."""


class Page(msgspec.Struct, frozen=True):
    name: str
    """Of its file, without ending."""
    machine: str
    """Key of the hardware."""
    machine_title: str
    launcher: str
    runs: int
    lines: tuple[Line, ...]
    """Largest newest change first."""

    fewest: int = trend.FEWEST_RUNS

    @property
    def changed(self) -> tuple[Line, ...]:
        """Lines whose level changed, or which drift."""
        return tuple(line for line in self.lines if line.moved)

    @property
    def steady(self) -> tuple[Line, ...]:
        """Lines in which no change was found, of runs that suffice."""
        return tuple(line for line in self.lines if not line.moved and not line.missing)

    @property
    def waiting(self) -> tuple[Line, ...]:
        """Lines of too few runs to call a change."""
        return tuple(line for line in self.lines if line.missing)

    @property
    def heading(self) -> str:
        """The answer; that nothing changed is said only of runs that suffice."""
        judged = len(self.lines) - len(self.waiting)
        if self.changed:
            return f"{len(self.changed)} of {plural(judged, 'result')} changed"
        if judged:
            return f"No change found in {plural(judged, 'result')}"
        missing = min(line.missing for line in self.lines)
        return f"{plural(missing, 'more run')} until a change can be found"


def pages(summaries: Iterable[Summary]) -> tuple[Page, ...]:
    """Lay out one page for every machine and launcher that has a result with two numbers or more."""
    known = trend.in_order(summaries)
    chosen = trend.series(known, trend.results(known), labelled=False)
    groups: dict[tuple[str, str], list[SeriesTrend]] = {}
    for one in trend.trends(known, chosen, margin=MARGIN).results:
        groups.setdefault((one.series.machine, one.series.launcher), []).append(one)
    found = []
    for (machine, launcher), group in sorted(groups.items()):
        lines = sorted(filter(None, map(_line, group)), key=lambda line: -line.moved)
        if lines:
            newest = max((one.series for one in group), key=lambda one: (one.points[-1].started, one.points[-1].run))
            runs = {point.run for one in group for point in one.series.points}
            name = f"{machine}-{launcher}"
            found.append(Page(name, machine, newest.machine_title, launcher, len(runs), tuple(lines)))
    return tuple(found)


def _line(one: SeriesTrend) -> Line | None:
    series, judged = one.series, one.trend
    measured = [
        (index, point, point.estimate) for index, point in enumerate(series.points) if point.estimate is not None
    ]
    if len(measured) < 2:
        return None
    changed = {change.at for change in judged.changes}
    numbers = [number for _, _, number in measured]
    begins = judged.changes[-1].at if judged.changes else 0
    level = statistics.median([number for index, _, number in measured if index >= begins])
    low = min(*numbers, level * (1 - _BANDS * MARGIN))
    high = max(*numbers, level * (1 + _BANDS * MARGIN))
    places = _places([point for _, point, _ in measured])

    def height(number: float) -> float:
        return round(HEIGHT - EDGE - (HEIGHT - 2 * EDGE) * (number - low) / ((high - low) or 1.0), 1)

    dots = tuple(
        Dot(
            x=place,
            y=height(number),
            label=f"{point.started[:10]}: {value(number, series.unit)} ({point.run})",
            changed=index in changed,
        )
        for (index, point, number), place in zip(measured, places, strict=True)
    )
    at = {index: place for (index, _, _), place in zip(measured, places, strict=True)}
    upper, lower = height(level * (1 + MARGIN)), height(level * (1 - MARGIN))
    start = at.get(begins, places[0])
    return Line(
        result=series.result,
        says=answer(series, judged),
        dots=dots,
        steps=tuple(
            _step(series.points[place.at], change, at[place.at])
            for place, change in zip(judged.changes, one.changes, strict=True)
        ),
        band=Band(start, round(WIDTH - EDGE - start, 1), upper, round(lower - upper, 1)),
        moved=math.inf if failing(series) else _moved(judged),
        first=measured[0][1].started[:10],
        last=measured[-1][1].started[:10],
        path=" ".join(f"{dot.x},{dot.y}" for dot in dots),
        top=value(high, series.unit),
        bottom=value(low, series.unit),
        latest=value(numbers[-1], series.unit),
        missing=max(0, trend.FEWEST_RUNS - len(numbers)),
    )


def _moved(judged: Trend) -> float:
    ratio = judged.drift if judged.drift is not None else judged.changes[-1].ratio if judged.changes else 1.0
    return abs(math.log(ratio))


def _places(points: Sequence[Point]) -> list[float]:
    """Return where runs stand across: by their time; evenly where a time cannot be read, or all are the same."""
    width = WIDTH - 2 * EDGE
    try:
        times = [datetime.fromisoformat(point.started).timestamp() for point in points]
        shares = [(time - times[0]) / (times[-1] - times[0]) for time in times]
    except (ValueError, OverflowError, OSError, ZeroDivisionError):
        shares = [index / (len(points) - 1) for index in range(len(points))]
    return [round(EDGE + width * min(max(share, 0.0), 1.0), 1) for share in shares]


def _step(after: Point, change: ChangePoint, x: float) -> Step:
    facts = tuple(
        f"{fact.group} {fact.name}: {fact_value(fact, fact.before)} → {fact_value(fact, fact.after)}"
        for fact in change.differences[:MOST_FACTS]
    )
    return Step(x, after.started[:10], change.before, change.run, facts, len(change.differences) - len(facts))
