"""The history in the terminal: the answer first, then the runs, then what changed where the level did.

Every text comes from records, which are not trusted: it is printed as it is, never as markup, and without control
characters.
"""

from collections.abc import Iterator, Sequence

from rich.console import Console, RenderableType
from rich.table import Table
from rich.text import Text

from levelfield.analysis.environment import recorded
from levelfield.analysis.summary import CANARY
from levelfield.analysis.types import Estimate
from levelfield.compare.trend import Change, Difference, Point, Series, Trend
from levelfield.errors import printable, shortened
from levelfield.record.schema import UNKNOWN
from levelfield.report import units
from levelfield.report.sentences import LABELS
from levelfield.terminals import grid

_HEIGHTS = "▁▂▃▄▅▆▇█"
_LONGEST_VALUE = 48
_MOST_DIFFERENCES = 20
_LAUNCHERS = {"docker": "in containers", "venv": "in virtual environments", "host": "in an interpreter of the host"}
_WORDS = {"ns": ("slower", "faster"), "items/s": ("faster", "slower"), "bytes": ("larger", "smaller")}
"""What more of a unit means, and less."""
RULE = (
    "Levels are found by optimal segmentation of the log estimates (one more costs 3 × variance × log of the runs), an "
    "outlier is no level, and changes under {margin} are not called."
)


def heading(series: Series, found: Trend) -> Iterator[RenderableType]:
    """Yield two lines: what the trend of a result is, and its metric and machine."""
    yield note(f"{series.result}: {answer(series, found)}", "bold")
    metric = _metric(series)
    yield note(f"{metric[:1].upper()}{metric[1:]} on {_origin(series)}.", "dim")


def _metric(series: Series) -> str:
    """Name what the values are; the "median call" of a result is a geometric mean, the canary's is a median."""
    is_mean = series.metric == "median call" and series.result != CANARY
    return "geometric mean of a call" if is_mean else series.metric


def answer(series: Series, found: Trend) -> str:
    """Return the trend in a sentence, the newest change first: `13 % slower since 2026-11-03 (4 runs).`."""
    numbers = sum(point.estimate is not None for point in series.points)
    counted = units.plural(numbers, "run")
    if found.not_analysed:
        return f"{found.not_analysed}."
    if found.drift is not None:
        return f"it drifts, {_change(found.drift, series.unit)} over {counted}, and no single run is to blame."
    if not found.changes:
        return f"one level over {counted}."
    last = found.changes[-1]
    since = _day(series.points[last.at].started)
    more = f"; {units.plural(len(found.changes) - 1, 'earlier change')}" if len(found.changes) > 1 else ""
    tail = " (one run so far: measure again to confirm)" if last.runs == 1 else f" ({units.plural(last.runs, 'run')})"
    return f"{_change(last.ratio, series.unit)} since {since}{tail}{more}."


def table(series: Series, found: Trend, *, last: int) -> Table:
    """Return a table of the newest runs, one a line."""
    points = series.points[-last:] if last else series.points
    first = len(series.points) - len(points)
    changed = {change.at: change for change in found.changes}
    rows = []
    for index, point in enumerate(points, start=first):
        remark = note(_remark(point, changed.get(index), series.unit), "bold yellow" if index in changed else "dim")
        rows.append((f"{_day(point.started)} {point.started[11:16]}", point.run, _value(point, series.unit), remark))
    intervals = "\n(95 % in the minutes of the run)" if any(point.low for point in points) else ""
    return grid(("started (UTC)", "run", f"{_metric(series)}{intervals}:", ""), rows, whole=("started (UTC)",))


def change(series: Series, one: Change, differing: Sequence[Difference]) -> Iterator[RenderableType]:
    """Yield what differs in the environment at a change of level."""
    before, after = series.points[one.before], series.points[one.at]
    yield note(f"{_change(one.ratio, series.unit)} from {after.run} on; what is not as it was in {before.run}:", "bold")
    if not differing:
        yield note("  nothing that a record tells: look at what else ran there, and measure again.", "dim")
        return
    yield grid(
        ("", "", "was", "is"),
        (
            (f"  {fact.group}", fact.name, fact_value(fact, fact.before), fact_value(fact, fact.after))
            for fact in differing[:_MOST_DIFFERENCES]
        ),
    )
    if len(differing) > _MOST_DIFFERENCES:
        yield note(f"  and {len(differing) - _MOST_DIFFERENCES} more.", "dim")


def overview(all_series: Sequence[Series]) -> Iterator[RenderableType]:
    """List every series with its newest value, machine by machine."""
    for origin in dict.fromkeys(map(_origin, all_series)):
        rows = []
        for one in (each for each in all_series if _origin(each) == origin):
            values = [point.estimate for point in one.points if point.estimate is not None]
            newest = _value(one.points[-1], one.unit, interval=False)
            rows.append((one.result, str(len(one.points)), newest, sparkline(values[-20:])))
        yield grid(("result", "runs:", "newest:", ""), rows, title=origin, whole=("",))


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


def print_parts(console: Console, parts: Iterator[RenderableType] | Sequence[RenderableType]) -> None:
    """Print parts as they are, without interpreting markup or highlighting numbers."""
    for part in parts:
        console.print(part, highlight=False, markup=False)


def rule(margin: float) -> Text:
    """Return a note on how changes are found."""
    return note(RULE.format(margin=units.percent(margin)), "dim")


def note(text: str, style: str = "dim") -> Text:
    """Return a styled line of text, without control characters."""
    return Text(printable(text), style)


def _day(moment: str) -> str:
    return moment[:10]


def _change(ratio: float, unit: str) -> str:
    more, less = _WORDS.get(unit, ("more", "less"))
    return f"{units.percent(abs(ratio - 1))} {more if ratio > 1 else less}"


def _value(point: Point, unit: str, *, interval: bool = True) -> str:
    if point.estimate is None:
        return units.NO_VALUE
    low, high = (point.low, point.high) if interval else (None, None)
    estimate = Estimate(point.estimate, low, high)
    match unit:
        case "ns":
            return units.time_with_interval(estimate)
        case "bytes":
            return units.size(point.estimate)
        case _:
            return units.rate_with_interval(estimate)


def value(number: float, unit: str) -> str:
    """Write a value of a result with its unit: `2.50 ms`, `3.00 GiB`, `46.5 items/s`."""
    match unit:
        case "ns":
            return units.time(number)
        case "bytes":
            return units.size(number)
        case _:
            return f"{units.rate(number)} {unit}"


def _remark(point: Point, change_: Change | None, unit: str) -> str:
    parts = [f"← {_change(change_.ratio, unit)}"] if change_ else []
    if point.estimate is None:
        parts.append("not equal" if point.standing == "unequal" else point.standing)
    parts += [f"labelled {label}" if label in LABELS else label for label in point.labels.split(",") if label]
    return ", ".join(parts)


def fact_value(fact: Difference, value: str | None) -> str:
    """Write one side of a difference between environments, cut to `_LONGEST_VALUE` characters."""
    return shortened(recorded({} if value is None else {fact.name: value}, fact.group, fact.name), _LONGEST_VALUE)
