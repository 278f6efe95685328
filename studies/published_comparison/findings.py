"""From the windows of the folklore trial to two tables, and the reason for every rank that flips. Pure."""

import itertools
import math
from collections.abc import Mapping, Sequence

import msgspec
import numpy as np

from studies.harness.findings import launch_levels
from studies.harness.record import Generation, Interval
from studies.published_comparison.forms import AS_PUBLISHED, FAIRLY, Framework, path
from studies.published_comparison.record import AnswerCheck, Improvement, Row, TableEntry
from suite.report import units
from suite.report.markdown import interval
from suite.report.sentences import join
from suite.statistics import ranking
from suite.statistics.arrays import Floats
from suite.statistics.errors import InsufficientData
from suite.statistics.ratios import level_interval

OWN_SHARE = 1.25
"""A framework whose time changes by less than this is moved by the others alone."""

_Levels = Mapping[str, Floats]
"""Arm to the log level of each launch."""


def rows(
    frameworks: Sequence[Framework], generations: Sequence[Generation], said: Sequence[AnswerCheck]
) -> tuple[Row, ...]:
    """Return both tables, one row a framework, in the order of the published one."""
    if not generations or not frameworks:
        return ()
    arms = [form.arm for framework in frameworks for form in framework.forms]
    levels = dict(zip(arms, launch_levels(generations, arms).T, strict=True))
    answers = {each.arm: each for each in said}
    published, fairly = (_table(frameworks, levels, name, answers) for name in (AS_PUBLISHED, FAIRLY))
    found = [_row(each, published[each.backend], fairly[each.backend], levels) for each in frameworks]
    return tuple(_explained(row, found) for row in found)


def _table(
    frameworks: Sequence[Framework], levels: _Levels, name: str, answers: Mapping[str, AnswerCheck]
) -> dict[str, TableEntry]:
    arms = {each.backend: f"{each.backend}, {name}" for each in frameworks}
    unranked = {arm: _unequal(answers.get(arm)) for arm in arms.values()}
    equal = [arm for arm, reason in unranked.items() if not reason]
    places = ranking.rank(np.stack([levels[arm] for arm in equal], axis=1)) if equal else []
    ranks = {equal[place.arm]: place.rank for place in places}
    unranked |= {equal[place.arm]: place.reason or "" for place in places}
    return {
        backend: TableEntry(arm, _level(levels[arm]), ranks.get(arm), unranked[arm]) for backend, arm in arms.items()
    }


def _unequal(said: AnswerCheck | None) -> str:
    """Say why an answer is not shown to equal the reference; empty where it is."""
    if said is None:
        return "Its answer was not compared with the reference."
    if said.equal:
        return ""
    what = "Its answer cannot be compared" if said.equal is None else "It does not equal the reference"
    return f"{what}: {said.reason.rstrip('.')}."


def _row(framework: Framework, published: TableEntry, fairly: TableEntry, levels: _Levels) -> Row:
    return Row(
        backend=framework.backend,
        title=framework.title,
        published_ms=framework.published_ms,
        published=published,
        fairly=fairly,
        factor=_level(levels[published.arm] - levels[fairly.arm]),
        mended=tuple(
            Improvement(after.mends, _level(levels[before.arm] - levels[after.arm]))
            for before, after in itertools.pairwise(path(framework))
        ),
    )


def _level(logs: Floats) -> Interval:
    try:
        found = level_interval(logs)
    except InsufficientData:
        return Interval(math.exp(float(np.nanmean(logs))), None, None)
    return Interval(found.level, found.low, found.high)


def _explained(row: Row, table: Sequence[Row]) -> Row:
    """Say whom a framework overtakes and who overtakes it, and why where its rank is not that of before."""
    overtakes = tuple(each.title for each in table if _before(each, row, "published") and _before(row, each, "fairly"))
    by = tuple(each.title for each in table if _before(row, each, "published") and _before(each, row, "fairly"))
    explained = msgspec.structs.replace(row, overtakes=overtakes, overtaken_by=by)
    if row.fairly.rank is None or row.published.rank == row.fairly.rank:
        return explained
    return msgspec.structs.replace(explained, reason=_reason(explained))


def _before(first: Row, second: Row, table: str) -> bool:
    one: TableEntry = getattr(first, table)
    other: TableEntry = getattr(second, table)
    return one.rank is not None and other.rank is not None and one.rank < other.rank


def _reason(row: Row) -> str:
    """Say by what a framework's own time changed, the largest change first, and how the others moved round it."""
    parts = sorted(row.mended, key=lambda each: abs(math.log(each.factor.value)), reverse=True)
    changes = "; ".join(f"{each.mends} ({_change(each.factor)})" for each in parts)
    if abs(math.log(row.factor.value)) < math.log(OWN_SHARE):
        own = f"Its own time hardly changes ({_change(row.factor)})"
    else:
        own = f"{_capital(_change(row.factor))} fairly: {changes}"
    others = []
    if row.overtakes:
        others.append(f"it overtakes {join(row.overtakes)}")
    if row.overtaken_by:
        overtake = "overtakes" if len(row.overtaken_by) == 1 else "overtake"
        others.append(f"{join(row.overtaken_by)}, no longer held back, {overtake} it")
    return f"{own}. {_capital(' and '.join(others))}." if others else f"{own}."


def _change(factor: Interval) -> str:
    """`47.1 times (46.0–48.2) faster`, `1.2 times slower`."""
    if factor.value >= 1:
        return f"{interval(factor.value, factor.low, factor.high, units.digits, unit=' times')} faster"
    inverse = factor.map(lambda value: 1 / value)
    return f"{interval(inverse.value, inverse.high, inverse.low, units.digits, unit=' times')} slower"


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
