"""The classes and the trial as Markdown."""

from collections.abc import Iterator

from studies.ab import share
from studies.regressions.pairs import Pair
from studies.regressions.record import Classes, Record, Summary
from suite.report import units
from suite.report.markdown import interval, table

NUMBER = "{:.3f}".format


def classes_markdown(record: Classes) -> str:
    """Return every pair with its source's claim and its class."""
    rows = [
        (
            _title(each.pair),
            f"[{each.pair.claim}]({each.pair.source}): {each.pair.says}",
            interval(each.found.ratio, each.found.low, each.found.high, NUMBER) if each.found else "–",
            each.found.name if each.found else each.problem,
        )
        for each in record.pairs
    ]
    lines = [
        f"# Known changes of speed, classified by a bare loop, {record.updated[:10]}",
        "",
        *table(("pair", "the source says", "new/old:", "class"), rows),
    ]
    return "\n".join(lines) + "\n"


def markdown(record: Record) -> str:
    """Return the summary, and every pair beside its class."""
    return "\n".join(_lines(record)) + "\n"


def _lines(record: Record) -> Iterator[str]:
    yield f"# Known changes of speed, by `levelfield ab`, {record.updated[:10]}"
    yield ""
    if record.summary is not None:
        yield from (f"- {sentence}" for sentence in _sentences(record.summary))
        yield ""
    rows = [
        (
            _title(each.pair),
            f"{each.frozen.class_}, {interval(each.frozen.ratio, each.frozen.low, each.frozen.high, NUMBER)}",
            interval(each.ratio, each.low, each.high, NUMBER),
            each.verdict,
            units.duration(each.seconds),
        )
        for each in record.outcomes
    ]
    yield from table(("pair", "class", "new/old:", "verdict", "time"), rows)


def _sentences(summary: Summary) -> Iterator[str]:
    if summary.found is not None:
        yield (
            f"Known changes found, in the right direction: {share(summary.found)}; wrong direction "
            f"{summary.wrong_direction}, called same {summary.called_same}, undecided {summary.undecided_changed}."
        )
    if summary.false_alarms is not None:
        yield (
            f"False alarms where nothing changed: {share(summary.false_alarms)}; shown to be same "
            f"{summary.shown_same}, undecided {summary.undecided_unchanged}."
        )
    yield f"{units.duration(summary.seconds)} of machine time."


def _title(pair: Pair) -> str:
    return f"{pair.workload}, {pair.backend} {pair.old} → {pair.new}"
