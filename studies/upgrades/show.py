"""The upgrade trial as Markdown: counts with their intervals, then every upgrade case by case."""

import statistics
from collections.abc import Iterator, Sequence

from studies.ab import share
from studies.upgrades.record import Finding, Record
from suite.report import units
from suite.report.markdown import interval, table


def markdown(record: Record) -> str:
    """Return the findings as Markdown."""
    return "\n".join(_lines(record)) + "\n"


def _lines(record: Record) -> Iterator[str]:
    yield f"# Upgrades, by `levelfield ab`, {record.updated[:10]}"
    yield ""
    for finding in record.findings:
        yield f"- {_sentence(finding, [trial.seconds for trial in record.trials if trial.kind == finding.kind])}"
    upgrades = [trial for trial in record.trials if trial.kind == "upgrade"]
    if not upgrades:
        return
    yield ""
    yield from table(
        ("old", "new", "case", "new/old:", "verdict"),
        (
            (trial.old, trial.new, each.case, interval(each.ratio, each.low, each.high, "{:.3f}".format), each.verdict)
            for trial in upgrades
            for each in trial.decisions
        ),
    )
    yield ""
    for trial in upgrades:
        yield f"- {trial.answer} ({units.duration(trial.seconds)})"


def _sentence(finding: Finding, seconds: Sequence[float]) -> str:
    """`The same thing was called different in 0 of 20 trials (0.0 to 16.8 %), …`."""
    counts = ", ".join(f"{count} {verdict}" for verdict, count in finding.verdicts.items())
    return (
        f"{finding.counted[:1].upper()}{finding.counted[1:]} in {share(finding.by_trial, 'trials')} and in "
        f"{share(finding.by_decision, 'cases')}: {counts}; {units.duration(finding.seconds)} of machine time, "
        f"{units.duration(statistics.median(seconds))} a trial (median; at the most {units.duration(max(seconds))})."
    )
