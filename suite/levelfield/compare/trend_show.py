"""The history in the terminal: the answer first, then the runs, then what changed where the level did.

Every text comes from records, which are not trusted: it is printed as it is, never as markup, and without control
characters.
"""

import itertools
from collections.abc import Iterator, Sequence

from rich.console import RenderableType
from rich.text import Text

from levelfield.analysis.environment import recorded
from levelfield.analysis.summary import CANARY
from levelfield.analysis.types import Estimate
from levelfield.compare.trend import ChangePoint, Difference, Point, Series, SeriesTrend, Trend, Trends
from levelfield.errors import shortened
from levelfield.record.schema import UNKNOWN
from levelfield.report import tables, units
from levelfield.report.sentences import LABELS
from levelfield.report.tables import Cell, Column, Kind, Table, rendered, text

_HEIGHTS = "▁▂▃▄▅▆▇█"
_LONGEST_VALUE = 48
_MOST_DIFFERENCES = 20
_LAUNCHERS = {"docker": "in containers", "venv": "in virtual environments", "host": "in an interpreter of the host"}
_WORDS = {"ns": ("slower", "faster"), "items/s": ("faster", "slower"), "bytes": ("larger", "smaller")}
"""What more of a unit means, and less."""
_KINDS: dict[str, Kind] = {"ns": "time", "items/s": "rate", "bytes": "bytes"}
RULE = (
    "Levels are found by optimal segmentation of the log estimates (one more costs 3 × variance × log of the runs), an "
    "outlier is no level, and changes under {margin} are not called."
)


def shown(found: Trends, *, last: int) -> Iterator[RenderableType]:
    """Yield every trend: what it is, the newest runs, and what differs where the level changed, the newest first."""
    for one in found.results:
        yield Text()
        yield text(f"{one.series.result}: {answer(one.series, one.trend)}", "bold")
        metric = _metric(one.series)
        yield text(f"{metric[:1].upper()}{metric[1:]} on {_origin(one.series)}.", "dim")
        yield rendered(_points(one, last))
        for change in reversed(one.changes):
            yield from _changed(one.series, change)
    yield text(RULE.format(margin=units.percent(found.margin)), "dim")


def _metric(series: Series) -> str:
    """Name what the values are; the "median call" of a result is a geometric mean, the canary's is a median."""
    is_mean = series.metric == "median call" and series.result != CANARY
    return "geometric mean of a call" if is_mean else series.metric


def answer(series: Series, found: Trend) -> str:
    """Return the trend in a sentence, the newest change first: `13 % slower since 2026-11-03 (4 runs).`."""
    if lost := failing(series):
        newest = "newest run" if lost == 1 else f"newest {units.plural(lost, 'run')}"
        return f"no valid answer in the {newest}; before that {_of_numbers(series, found)}"
    return _of_numbers(series, found)


def failing(series: Series) -> int:
    """Return in how many of the newest runs, one after the other, it failed or was not equal to the reference."""
    newest = itertools.takewhile(lambda point: point.standing in {"failed", "unequal"}, reversed(series.points))
    return sum(1 for _ in newest)


def _of_numbers(series: Series, found: Trend) -> str:
    numbers = sum(point.estimate is not None for point in series.points)
    counted = units.plural(numbers, "run")
    if found.not_analysed:
        return f"{found.not_analysed}."
    if found.drift is not None:
        return f"it drifts, {_change(found.drift, series.unit)} over {counted}, and no single run is to blame."
    if not found.changes:
        return f"one level over {counted}."
    last = found.changes[-1]
    since = series.points[last.at].started[:10]
    more = f"; {units.plural(len(found.changes) - 1, 'earlier change')}" if len(found.changes) > 1 else ""
    tail = " (one run so far: measure again to confirm)" if last.runs == 1 else f" ({units.plural(last.runs, 'run')})"
    return f"{_change(last.ratio, series.unit)} since {since}{tail}{more}."


def _points(one: SeriesTrend, last: int) -> Table:
    series, changed = one.series, {change.run: change.ratio for change in one.changes}

    def remark(point: Point) -> Cell:
        parts = [f"← {_change(changed[point.run], series.unit)}"] if point.run in changed else []
        if point.estimate is None:
            parts.append("not equal" if point.standing == "unequal" else point.standing)
        parts += [f"labelled {label}" if label in LABELS else label for label in point.labels.split(",") if label]
        return Cell(", ".join(parts), tone="undecided" if point.run in changed else "note")

    points = series.points[-last:]
    columns: tuple[Column[Point], ...] = (
        Column("started (UTC)", lambda it: f"{it.started[:10]} {it.started[11:16]}", numeric=False, whole=True),
        Column("run", lambda it: it.run, numeric=False),
        Column(
            _metric(series),
            lambda point: None if point.estimate is None else Estimate(point.estimate, point.low, point.high),
            _KINDS[series.unit],
            interval="95 % in the minutes of the run" if any(point.low for point in points) else "",
        ),
        Column("", remark, numeric=False),
    )
    return tables.make("", columns, points)


_DIFFERENCES: tuple[Column[Difference], ...] = (
    Column("", lambda fact: fact.group, numeric=False),
    Column("", lambda fact: fact.name, numeric=False),
    Column("was", lambda fact: fact_value(fact, fact.before), numeric=False),
    Column("is", lambda fact: fact_value(fact, fact.after), numeric=False),
)


def _changed(series: Series, one: ChangePoint) -> Iterator[RenderableType]:
    """Yield what differs in the environment at a change of level."""
    yield text(f"{_change(one.ratio, series.unit)} from {one.run} on; what is not as it was in {one.before}:", "bold")
    if not one.differences:
        yield text("  nothing in the records: look at what else ran there, and measure again.", "dim")
        return
    yield rendered(tables.make("", _DIFFERENCES, one.differences[:_MOST_DIFFERENCES]))
    if len(one.differences) > _MOST_DIFFERENCES:
        yield text(f"  and {len(one.differences) - _MOST_DIFFERENCES} more.", "dim")


def _newest(one: Series) -> Cell:
    newest = one.points[-1].estimate
    return tables.cell(None if newest is None else Estimate(newest), _KINDS[one.unit])


_OVERVIEW: tuple[Column[Series], ...] = (
    Column("result", lambda one: one.result, numeric=False),
    Column("runs", lambda one: str(len(one.points))),
    Column("newest", _newest),
    Column(
        "",
        lambda one: sparkline([point.estimate for point in one.points if point.estimate is not None][-20:]),
        numeric=False,
        whole=True,
    ),
)


def overview(all_series: Sequence[Series]) -> Iterator[RenderableType]:
    """List every series with its newest value, machine by machine."""
    for origin in dict.fromkeys(map(_origin, all_series)):
        yield rendered(tables.make(origin, _OVERVIEW, [one for one in all_series if _origin(one) == origin]))


def _origin(one: Series) -> str:
    where = "another tool’s" if one.result.endswith(f"/{UNKNOWN}") else _LAUNCHERS.get(one.launcher, one.launcher)
    return f"{one.machine_title} (machine {one.machine}), {where}"


def sparkline(values: Sequence[float]) -> str:
    """Draw a series in one line of blocks."""
    if not values:
        return ""
    low, high = min(values), max(values)
    if high <= low:
        return _HEIGHTS[3] * len(values)
    return "".join(_HEIGHTS[round((value - low) / (high - low) * (len(_HEIGHTS) - 1))] for value in values)


def _change(ratio: float, unit: str) -> str:
    more, less = _WORDS.get(unit, ("more", "less"))
    return f"{units.percent(abs(ratio - 1))} {more if ratio > 1 else less}"


def value(number: float, unit: str) -> str:
    """Write a value of a result with its unit: `2.50 ms`, `3.00 GiB`, `46.5 items/s`."""
    match unit:
        case "ns":
            return units.time(number)
        case "bytes":
            return units.size(number)
        case _:
            return f"{units.rate(number)} {unit}"


def fact_value(fact: Difference, value: str | None) -> str:
    """Write one side of a difference between environments, cut to `_LONGEST_VALUE` characters."""
    return shortened(recorded({} if value is None else {fact.name: value}, fact.group, fact.name), _LONGEST_VALUE)
