"""The trends of one machine as a page: every result that was measured more than once, with its changes marked."""

from collections.abc import Iterable
from contextlib import closing

import msgspec

from suite.history import queries
from suite.history.show import answer, value
from suite.history.store import Store
from suite.history.summary import Summary
from suite.history.trend import Series, trend

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
    groups: dict[tuple[str, str], list[Series]] = {}
    with closing(Store("sqlite://")) as store:
        store.enter(sorted(summaries, key=lambda one: (one.started, one.id)))
        for one in queries.series(store, queries.results(store), labelled=False):
            groups.setdefault((one.machine, one.launcher), []).append(one)
    found = []
    for (machine, launcher), group in sorted(groups.items()):
        lines = tuple(filter(None, map(_line, group)))
        if lines:
            newest = max(group, key=lambda one: one.points[-1].number)
            runs = {point.number for one in group for point in one.points}
            found.append(Page(f"{machine}-{launcher}", newest.machine_title, launcher, len(runs), lines))
    return tuple(found)


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
            x=round(EDGE + (WIDTH - 2 * EDGE) * index / last, 1),
            y=round(HEIGHT - EDGE - (HEIGHT - 2 * EDGE) * (point.estimate - low) / reach, 1),
            label=f"{point.started[:10]}: {value(point.estimate, series.unit)} ({point.run})",
            changed=index in changed,
        )
        for index, point in enumerate(series.points)
        if point.estimate is not None
    )
    return Line(
        result=series.result,
        says=answer(series, judged),
        dots=dots,
        path=" ".join(f"{dot.x},{dot.y}" for dot in dots),
        top=value(high, series.unit),
        bottom=value(low, series.unit),
        latest=value(numbers[-1], series.unit),
    )
