"""The answer of `levelfield history --json`."""

from collections.abc import Sequence

import msgspec

from levelfield.history import queries
from levelfield.history.queries import Difference, Runs
from levelfield.history.trend import Series, Trend, trend


class ChangePoint(msgspec.Struct, frozen=True):
    """A run from which on the level is another one."""

    run: str
    before: str
    """Last run of the old level."""
    ratio: float
    """New level over old level."""
    runs: int
    """Runs at the new level, until the next change."""
    differences: tuple[Difference, ...]
    """What differs between the environments of the two runs, as far as it can explain the change."""


class SeriesTrend(msgspec.Struct, frozen=True):
    """One result on one machine over its runs."""

    series: Series
    trend: Trend
    changes: tuple[ChangePoint, ...]


class Trends(msgspec.Struct, frozen=True):
    """The trends of all results that match."""

    format: int
    margin: float
    """Relative difference below which two levels count as one."""
    results: tuple[SeriesTrend, ...]


def trends(runs: Runs, found: Sequence[Series], *, margin: float) -> Trends:
    """Return the trend of every series, and what changed with it."""
    return Trends(1, margin, tuple(_judged(runs, one, trend(one, margin=margin)) for one in found))


def _judged(runs: Runs, one: Series, judged: Trend) -> SeriesTrend:
    changes = tuple(
        ChangePoint(
            run=one.points[change.at].run,
            before=one.points[change.before].run,
            ratio=change.ratio,
            runs=change.runs,
            differences=tuple(
                queries.environment_differences(runs, one.points[change.before], one.points[change.at], one)
            ),
        )
        for change in judged.changes
    )
    return SeriesTrend(one, judged, changes)
