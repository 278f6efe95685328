"""The folklore trial as Markdown: both tables side by side, and why rows flip."""

from collections.abc import Iterator, Sequence

from studies.harness.record import Interval
from studies.published_comparison.forms import AS_PUBLISHED, FAIRLY, get
from studies.published_comparison.record import AnswerCheck, Folklore, Row
from suite.report import units
from suite.report.markdown import interval, table
from suite.report.sentences import join
from suite.report.separation import IN_THESE_MINUTES

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
