"""The upgrade trial in the terminal and as Markdown: counts with their intervals, then every upgrade case by case."""

from collections.abc import Iterator

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from suite.compare.types import Verdict
from suite.report import units
from suite.statistics.proportions import Proportion
from suite.trials.upgrades.record import Decision, Finding, Record, Trial

_STYLES = {Verdict.SLOWER: "red", Verdict.HUNGRIER: "red", Verdict.FASTER: "green", Verdict.LEANER: "green"}


def show(record: Record, console: Console) -> None:
    """Print what was found."""
    for finding in record.findings:
        console.print(escape(sentence(finding)), highlight=False)
    upgrades = [trial for trial in record.trials if trial.kind == "upgrade"]
    if not upgrades:
        return
    table = Table(title="Released versions", title_justify="left")
    for name in ("old", "new", "case"):
        table.add_column(name)
    table.add_column("new/old", justify="right", no_wrap=True)
    table.add_column("verdict", no_wrap=True)
    for trial in upgrades:
        for decision in trial.decisions:
            style = _STYLES.get(decision.verdict, "")
            verdict = f"[{style}]{decision.verdict}[/]" if style else decision.verdict.value
            table.add_row(trial.old, trial.new, decision.case, ratio(decision), verdict)
        table.add_section()
    console.print(table)
    for trial in upgrades:
        console.print(f"{escape(trial.answer)} ({units.duration(trial.seconds)})", highlight=False)


def markdown(record: Record) -> str:
    """Return the findings as Markdown."""
    return "\n".join(_lines(record)) + "\n"


def _lines(record: Record) -> Iterator[str]:
    yield f"# Upgrades, by `levelfield ab`, {record.updated[:10]}"
    yield ""
    for finding in record.findings:
        yield f"- {sentence(finding)}"
    upgrades = [trial for trial in record.trials if trial.kind == "upgrade"]
    if not upgrades:
        return
    yield ""
    yield "| old | new | case | new/old | verdict |"
    yield "|---|---|---|---:|---|"
    for trial in upgrades:
        for decision in trial.decisions:
            yield f"| {trial.old} | {trial.new} | {decision.case} | {ratio(decision)} | {decision.verdict} |"
    yield ""
    for trial in upgrades:
        yield f"- {answer(trial)}"


def answer(trial: Trial) -> str:
    """Return what a trial came to, with its machine time."""
    return f"{trial.answer} ({units.duration(trial.seconds)})"


def sentence(finding: Finding) -> str:
    """`The same thing was called different in 0 of 20 trials (0.0 to 16.8 %), …`."""
    counts = ", ".join(f"{count} {verdict}" for verdict, count in finding.verdicts.items())
    return (
        f"{finding.wanted[:1].upper()}{finding.wanted[1:]} in {_share(finding.by_trial, 'trials')} and in "
        f"{_share(finding.by_decision, 'cases')}: {counts}; {units.duration(finding.seconds)} of machine time."
    )


def _share(found: Proportion, what: str) -> str:
    return f"{found.successes} of {found.trials} {what} ({100 * found.low:.1f} to {100 * found.high:.1f} %)"


def ratio(decision: Decision) -> str:
    """`1.021 (1.013–1.029)`."""
    if decision.ratio is None:
        return units.NO_VALUE
    if decision.low is None or decision.high is None:
        return f"{decision.ratio:.3f}"
    return f"{decision.ratio:.3f} ({decision.low:.3f}–{decision.high:.3f})"
