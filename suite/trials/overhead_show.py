"""The overhead trial's findings side by side: in the terminal, and as the Markdown that stands beside its record."""

from collections.abc import Iterator

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from suite.trials.record import Finding, Interval, Trial

_COLUMNS = ("model", "backend", "first", "second", "first takes", "second takes", "ratio (95 %)", "difference, µs")
_COLOURS = {"within": "green", "outside": "red", "not shown": "yellow", "no limit": "dim"}


def show(trial: Trial, console: Console) -> None:
    """Print the findings, and what failed."""
    table = Table(title="What Levelfield adds to a call: medians over launches", title_justify="left")
    table.add_column("case")
    table.add_column("first / second")
    for name in ("ratio (95 %)", "difference, µs"):
        table.add_column(name, justify="right")
    table.add_column("limit")
    table.add_column("says")
    for cell in trial.cells:
        for finding in cell.findings:
            first, second, _, _, ratio, difference, _, limit, verdict = _row(finding)
            case, held = f"{cell.case.model}, {cell.backend}", f"{first} / {second}"
            table.add_row(case, held, ratio, difference, limit, f"[{_COLOURS[finding.verdict]}]{verdict}[/]")
        table.add_section()
    console.print(table)
    for cell in trial.cells:
        if cell.failure:
            console.print(f"[red]{cell.case.model}, {cell.backend}:[/] {escape(cell.failure)}", highlight=False)
    console.print(_surroundings(trial), highlight=False)


def markdown(trial: Trial) -> str:
    """Return the findings as a Markdown table, with what surrounded them."""
    return "\n".join((*_lines(trial), "", _surroundings(trial), ""))


def _lines(trial: Trial) -> Iterator[str]:
    columns = (*_COLUMNS, "launches", "limit", "says")
    yield f"| {' | '.join(columns)} |"
    yield f"|{'|'.join('---' for _ in columns)}|"
    for cell in trial.cells:
        for finding in cell.findings:
            yield f"| {' | '.join((cell.case.model, cell.backend, *_row(finding)))} |"
        if cell.failure:
            yield f"| {cell.case.model} | {cell.backend} | could not be measured |{' |' * (len(columns) - 3)}"


def _surroundings(trial: Trial) -> str:
    rounds = [each for cell in trial.cells for one in cell.generations for each in one.rounds]
    return (
        f"{sum(bool(each.disturbed) for each in rounds)} of {len(rounds)} rounds were disturbed from outside; load "
        f"average {trial.load_before[0]:.1f} before, {trial.load_after[0]:.1f} after. Started {trial.started}."
    )


def _row(finding: Finding) -> tuple[str, ...]:
    contrast = finding.contrast
    return (
        contrast.first,
        contrast.second,
        _time(finding.first_ns),
        _time(finding.second_ns),
        _spelled(finding.ratio, 1.0, 3),
        _spelled(finding.difference_ns, 1000.0, 1),
        str(finding.launches),
        str(contrast.limit),
        finding.verdict,
    )


def _time(value_ns: float) -> str:
    return f"{value_ns / 1e6:.3f} ms" if value_ns >= 1e6 else f"{value_ns / 1e3:.2f} µs"


def _spelled(interval: Interval, unit: float, digits: int) -> str:
    text = f"{interval.value / unit:.{digits}f}"
    if interval.low is None or interval.high is None:
        return text
    return f"{text} ({interval.low / unit:.{digits}f} … {interval.high / unit:.{digits}f})"
