"""The trends of one machine as a page: every result that was measured more than once, with its changes marked."""

from collections.abc import Iterable, Sequence

import msgspec

from suite.history.show import answer
from suite.history.summary import Result, Summary
from suite.history.trend import Point, Series, trend
from suite.report import units

MARGIN = 0.02
WIDTH, HEIGHT, EDGE = 640, 150, 8
"""Of a chart, in the units of its view box."""


class Dot(msgspec.Struct, frozen=True):
    """One run in a chart."""

    x: float
    y: float
    label: str
    changed: bool
    """A new level begins here."""


class Line(msgspec.Struct, frozen=True):
    """One result's trend."""

    result: str
    says: str
    dots: tuple[Dot, ...]
    path: str
    """Points for a polyline."""
    top: str
    bottom: str
    """Largest and smallest value, with units."""
    latest: str


class Page(msgspec.Struct, frozen=True):
    """All trends of one machine and launcher."""

    name: str
    """Of its file, without ending."""
    machine_title: str
    launcher: str
    runs: int
    lines: tuple[Line, ...]


def pages(summaries: Iterable[Summary]) -> tuple[Page, ...]:
    """Lay out one page for every machine and launcher that has a result with two numbers or more."""
    groups: dict[tuple[str, str], list[Summary]] = {}
    for one in summaries:
        if not one.labels:
            groups.setdefault((one.machine, one.launcher), []).append(one)
    found = []
    for (machine, launcher), runs in sorted(groups.items()):
        runs.sort(key=lambda one: (one.started, one.id))
        lines = tuple(line for series in _series(runs) if (line := _line(series)) is not None)
        if lines:
            found.append(Page(f"{machine}-{launcher}", runs[-1].machine_title, launcher, len(runs), lines))
    return tuple(found)


def _series(runs: Sequence[Summary]) -> list[Series]:
    points: dict[tuple[str, str], list[Point]] = {}
    newest: dict[tuple[str, str], tuple[Summary, Result]] = {}
    for number, run in enumerate(runs):
        for result in run.results:
            key = (result.id, result.metric)
            newest[key] = (run, result)
            points.setdefault(key, []).append(
                Point(
                    number=number,
                    run=run.id,
                    started=run.started,
                    standing=result.standing,
                    labels="",
                    estimate=result.estimate,
                    low=result.low,
                    high=result.high,
                )
            )
    return [
        Series(
            result=result.id,
            arm=result.arm,
            image=result.image,
            metric=result.metric,
            unit=result.unit,
            machine=run.machine,
            machine_title=run.machine_title,
            launcher=run.launcher,
            points=tuple(points[key]),
        )
        for key, (run, result) in sorted(newest.items())
    ]


def _line(series: Series) -> Line | None:
    numbers = [point.estimate for point in series.points if point.estimate is not None]
    if len(numbers) < 2:
        return None
    judged = trend(series, margin=MARGIN)
    changed = {change.at for change in judged.changes}
    low, high = min(numbers), max(numbers)
    reach = (high - low) or high or 1.0
    last = max(1, len(series.points) - 1)
    dots = tuple(
        Dot(
            x=round(EDGE + (WIDTH - 2 * EDGE) * place / last, 1),
            y=round(HEIGHT - EDGE - (HEIGHT - 2 * EDGE) * (point.estimate - low) / reach, 1),
            label=f"{point.started[:10]}: {_value(point.estimate, series.unit)} ({point.run})",
            changed=place in changed,
        )
        for place, point in enumerate(series.points)
        if point.estimate is not None
    )
    return Line(
        result=series.result,
        says=answer(series, judged),
        dots=dots,
        path=" ".join(f"{dot.x},{dot.y}" for dot in dots),
        top=_value(high, series.unit),
        bottom=_value(low, series.unit),
        latest=_value(numbers[-1], series.unit),
    )


def _value(value: float, unit: str) -> str:
    match unit:
        case "bytes":
            return units.size(value)
        case "items/s":
            return f"{units.rate(value)} items/s"
        case _:
            return units.time(value)
