"""The overhead trial's findings side by side: in the terminal, and as the Markdown that stands beside its record."""

import math
from collections import Counter
from collections.abc import Iterator, Mapping

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
    for model, backend, findings in _parts(trial):
        for finding in findings:
            first, second, _, _, ratio, difference, _, limit, verdict = _row(finding)
            case, held = f"{model}, {backend}", f"{first} / {second}"
            table.add_row(case, held, ratio, difference, limit, f"[{_COLOURS[finding.verdict]}]{verdict}[/]")
        table.add_section()
    console.print(table)
    for cell in trial.cells:
        if cell.failure:
            console.print(f"[red]{cell.case.model}, {cell.backend}:[/] {escape(cell.failure)}", highlight=False)
    for line in (summary(trial), _surroundings(trial)):
        console.print(line, highlight=False)


def _parts(trial: Trial) -> Iterator[tuple[str, str, tuple[Finding, ...]]]:
    """Give each cell's findings, then those of all backends together, with the model's and backend's name."""
    for cell in trial.cells:
        yield cell.case.model, cell.backend, cell.findings
    for model, findings in trial.pooled.items():
        yield model, "all backends", findings


def summary(trial: Trial) -> str:
    """Say how many contrasts of each kind are within their limits, and which is the worst."""
    return " ".join(
        f"{title}: {', '.join(f'{count} {verdict}' for verdict, count in counts(found).items())}; farthest from the "
        f"other {worst(found)}."
        for title, inside in (("In one process", True), ("Between two processes", False))
        if (found := limited(trial, one_process=inside))
    )


def limited(trial: Trial, *, one_process: bool) -> dict[tuple[str, str], Finding]:
    """Return the contrasts with a bare loop, by model and backend."""
    return {
        (cell.case.model, cell.backend): finding
        for cell in trial.cells
        for finding in cell.findings
        if finding.contrast.second == "bare loop" and finding.contrast.one_process is one_process
    }


def counts(found: Mapping[tuple[str, str], Finding]) -> dict[str, int]:
    """Count verdicts."""
    return dict(Counter(finding.verdict for finding in found.values()))


def worst(found: Mapping[tuple[str, str], Finding]) -> str:
    """`torch on bert: 1.011 (0.998 … 1.024)`: the contrast whose ratio is farthest from one."""
    (model, backend), finding = farthest(found)
    return f"{backend} on {model}: {_spelled(finding.ratio, 1.0, 3)}"


def farthest(found: Mapping[tuple[str, str], Finding]) -> tuple[tuple[str, str], Finding]:
    """Return the contrast whose ratio is farthest from one, on the log scale."""
    return max(found.items(), key=lambda item: abs(math.log(item[1].ratio.value)))


def markdown(trial: Trial) -> str:
    """Return the findings as a Markdown table, with what surrounded them."""
    found = summary(trial)
    return "\n".join((*_lines(trial), "", *([found, ""] if found else []), _surroundings(trial), ""))


def _lines(trial: Trial) -> Iterator[str]:
    columns = (*_COLUMNS, "launches", "limit", "says")
    yield f"| {' | '.join(columns)} |"
    yield f"|{'|'.join('---' for _ in columns)}|"
    for model, backend, findings in _parts(trial):
        for finding in findings:
            yield f"| {' | '.join((model, backend, *_row(finding)))} |"
    for cell in trial.cells:
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
