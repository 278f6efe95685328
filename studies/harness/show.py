"""The overhead trial's findings side by side, as Markdown."""

import math
import statistics
from collections import Counter
from collections.abc import Iterator, Mapping

from studies.harness.record import Finding, Interval, Trial
from suite.report.markdown import interval, table

_COLUMNS = ("model", "backend", "first", "second", "first takes", "second takes", "ratio (95 %)", "difference, µs")


def summary(trial: Trial) -> str:
    """Say how many contrasts of each kind are within their limits, and which is the worst."""
    return " ".join(
        f"{title}: {', '.join(f'{count} {verdict}' for verdict, count in counts(found).items())}; farthest from the "
        f"other {_worst(found)}."
        for title, inside in (("In one process", True), ("Between two processes", False))
        if (found := _with_bare_loop(trial, one_process=inside))
    )


def _with_bare_loop(trial: Trial, *, one_process: bool) -> dict[tuple[str, str], Finding]:
    """Return the contrasts with a bare loop, by model and backend."""
    return {
        (cell.case.model, cell.backend): finding
        for cell in trial.cells
        for finding in cell.findings
        if finding.contrast.second == "bare loop" and finding.verdict != "no limit"
        if finding.contrast.one_process is one_process
    }


def counts(found: Mapping[tuple[str, str], Finding]) -> dict[str, int]:
    """Count verdicts."""
    return dict(Counter(finding.verdict for finding in found.values()))


def _worst(found: Mapping[tuple[str, str], Finding]) -> str:
    """`torch on bert: 1.011 (0.998 … 1.024)`: the contrast whose ratio is farthest from one."""
    (model, backend), finding = max(found.items(), key=lambda item: abs(math.log(item[1].ratio.value)))
    return f"{backend} on {model}: {_ratio(finding.ratio)}"


def markdown(trial: Trial) -> str:
    """Return the findings as a Markdown table, with what surrounded them."""
    found = summary(trial)
    columns = (*_COLUMNS, "launches", "limit", "says")
    rounds = [each for cell in trial.cells for one in cell.generations for each in one.rounds]
    surroundings = (
        f"{sum(bool(each.disturbed) for each in rounds)} of {len(rounds)} rounds were disturbed from outside; load "
        f"average {trial.load_before[0]:.1f} before, {trial.load_after[0]:.1f} after. Started {trial.started}."
    )
    lines = table(columns, _rows(trial, len(columns)))
    texts = (*([found] if found else []), *_supervisors(trial), surroundings)
    return "\n".join((*lines, *(line for text in texts for line in ("", text)), ""))


def _supervisors(trial: Trial) -> Iterator[str]:
    """Yield what the supervisors of other tools take of one core while their workers live."""
    rounds = [each for cell in trial.cells for one in cell.generations for each in one.rounds]
    windows = [window for each in rounds for window in each.windows]
    for arm in dict.fromkeys(window.arm for window in windows if window.supervisor_share is not None):
        shares = [each.supervisor_share for each in windows if each.arm == arm and each.supervisor_share is not None]
        yield (
            f"{arm}'s supervisor took {statistics.median(shares):.2%} of a core ({min(shares):.2%} … "
            f"{max(shares):.2%} in {len(shares)} runs)."
        )


def _rows(trial: Trial, columns: int) -> Iterator[tuple[str, ...]]:
    """Yield each cell's findings, then those of all backends together, then what could not be measured."""
    for cell in trial.cells:
        yield from ((cell.case.model, cell.backend, *_cells(finding)) for finding in cell.findings)
    for model, findings in trial.pooled.items():
        yield from ((model, "all backends", *_cells(finding)) for finding in findings)
    for cell in trial.cells:
        if cell.failure:
            yield (cell.case.model, cell.backend, "could not be measured", *[""] * (columns - 3))


def _cells(finding: Finding) -> tuple[str, ...]:
    contrast, difference = finding.contrast, finding.difference_ns
    return (
        contrast.first,
        contrast.second,
        _time(finding.first_ns),
        _time(finding.second_ns),
        _ratio(finding.ratio),
        interval(difference.value, difference.low, difference.high, lambda ns: f"{ns / 1000:.1f}", to=" … "),
        str(finding.launches),
        str(contrast.limit),
        finding.verdict,
    )


def _time(value_ns: float) -> str:
    return f"{value_ns / 1e6:.3f} ms" if value_ns >= 1e6 else f"{value_ns / 1e3:.2f} µs"


def _ratio(found: Interval) -> str:
    return interval(found.value, found.low, found.high, "{:.3f}".format, to=" … ")
