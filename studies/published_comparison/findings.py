"""From the windows of the folklore trial to two tables, and the reason for every rank that flips. Pure."""

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence

import msgspec
import numpy as np

from levelfield.report import units
from levelfield.report.markdown import interval, table
from levelfield.report.sentences import IN_THESE_MINUTES, join
from levelfield.statistics import ranking
from levelfield.statistics.arrays import Floats, InsufficientData
from levelfield.statistics.ratios import level_interval
from studies.harness.findings import Generation, Interval, launch_levels
from studies.published_comparison.record import (
    AS_PUBLISHED,
    FAIRLY,
    AnswerCheck,
    Folklore,
    Framework,
    Improvement,
    Row,
    TableEntry,
    get,
    path,
)

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


SOURCE = (
    "“Deep Learning GPU Benchmarks”, Data Science Blogathon, Analytics Vidhya, January 2025, and the script of the "
    "repository analystanand/benchmarks"
)


def _heading(record: Folklore) -> str:
    """Say what was compared, on what."""
    launches = len(record.generations)
    rounds = sum(len(each.rounds) for each in record.generations)
    return (
        f"A multilayer perceptron over {units.count(record.batch)} samples, time of one pass over all of them; "
        f"{units.plural(launches, 'launch', 'launches')} of every form, {units.plural(rounds, 'round')} in turns, "
        f"{units.plural(record.threads, 'thread')}. Times are geometric means over launches; their 95 % t "
        f"intervals hold {IN_THESE_MINUTES}, only ratios travel. At least as many frameworks as a rank less one are "
        "faster (all pairs judged at once, 95 %); what is not shown to equal the float64 reference has no rank."
    )


HOW = (
    "Both sides run in containers of the same images, with the same weights and inputs, on the same CPUs. As published "
    "means as the script does it, its questions for CPU share and memory inside the timed region included; fairly "
    "means the whole batch in one call, from NumPy to NumPy, completed, compiled where the framework is meant to be, "
    "and equal to the float64 reference."
)


def _cells(row: Row) -> tuple[str, ...]:
    return (
        row.title,
        f"{row.published_ms:.2f}",
        *(
            cell
            for entry in (row.published, row.fairly)
            for cell in (_time(entry.ns), units.NO_VALUE if entry.rank is None else str(entry.rank))
        ),
        _factor(row.factor),
    )


def _time(found: Interval) -> str:
    """`14.7 ms (14.5–14.9)`."""
    scale = units.scale_ns(found.value)
    return interval(
        found.value, found.low, found.high, lambda ns: units.digits(ns / scale.factor), unit=f" {scale.unit}"
    )


def _factor(found: Interval) -> str:
    """`47.1 (46.0–48.2)`."""
    return interval(found.value, found.low, found.high, units.digits)


def markdown(record: Folklore) -> str:
    """Return the two tables side by side, the reasons and the steps between them as Markdown."""
    return "\n".join(_lines(record)) + "\n"


def _lines(record: Folklore) -> Iterator[str]:
    yield f"# A published comparison, both ways, {record.started[:10]}"
    yield ""
    yield _heading(record)
    yield ""
    yield f"Stated: what {SOURCE} give for another machine. {HOW}"
    yield ""
    headings = ("framework", "stated, ms:", "as published:", "rank:", "fairly:", "rank:", "as published ÷ fairly:")
    yield from table(headings, map(_cells, record.rows))
    yield ""
    for line in _below(record):
        yield f"- {line}"
    yield ""
    yield "## From one to the other"
    yield ""
    yield from table(("framework", "what is timed", "what it mends", "before ÷ after:", "answer"), _steps(record))


def _steps(record: Folklore) -> Iterator[tuple[str, ...]]:
    said = {each.arm: each for each in record.said}
    rows = {row.backend: row for row in record.rows}
    for form in record.forms:
        row = rows.get(form.backend)
        mended = next((each for each in row.mended if each.mends == form.mends), None) if row and form.mends else None
        factor = _factor(mended.factor) if mended is not None else ""
        yield get(form.backend).title, f"{form.name}: {form.does}", form.mends, factor, _answer(said.get(form.arm))


def _answer(said: AnswerCheck | None) -> str:
    """Say how a form's answer compares with the reference."""
    if said is None:
        return "not compared"
    if said.equal is None:
        return f"not comparable: {said.reason}"
    error = "" if said.relative_error is None else f" (error {units.error(said.relative_error)})"
    return f"equal{error}" if said.equal else f"**not equal**{error}"


def _below(record: Folklore) -> Iterator[str]:
    """Say why rows flip, what is not the same computation, and what was not measured."""
    for row in record.rows:
        if row.reason:
            before = f", rank {row.published.rank} as published," if row.flips else ", without a rank as published,"
            yield f"{row.title}{before} is {row.fairly.rank} fairly. {row.reason}"
    yield from _unranked(record.rows)
    for backend, why in record.failures.items():
        yield f"{get(backend).title} is in neither table: {why}"
    rounds = [each for one in record.generations for each in one.rounds]
    disturbed = sum(bool(each.disturbed) for each in rounds)
    were = "was" if disturbed == 1 else "were"
    yield f"{disturbed} of {units.plural(len(rounds), 'round')} {were} disturbed from outside."


def _unranked(rows: Sequence[Row]) -> Iterator[str]:
    """Say why forms have no rank; a reason that several share is said once."""
    reasons: dict[str, list[str]] = {}
    for row in rows:
        for entry, name in ((row.published, AS_PUBLISHED), (row.fairly, FAIRLY)):
            if entry.unranked:
                reasons.setdefault(entry.unranked, []).append(f"{row.title} {name}")
    for reason, forms in reasons.items():
        yield f"{join(forms)}: no rank. {reason}"
