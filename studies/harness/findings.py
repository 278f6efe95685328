"""From the windows of a trial to findings: the interval of a contrast, compared with its limit.

The question is what the harness adds to a usual launch. Now and then a launch is of another kind (OpenVINO ran on one
core of two in one of sixteen, in either process); so the median over launches is compared with the limit, with its
distribution-free interval, and the record has the mean with its t interval too.
"""

import math
import os
import statistics
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, ClassVar, Literal, Self

import msgspec
import numpy as np
import scipy

from levelfield.record.schema import Artifact, Case, Image
from levelfield.report.tables import markdown as table
from levelfield.report.units import interval
from levelfield.schedule.outcomes import utc_now
from levelfield.statistics.arrays import Floats
from levelfield.statistics.levels import levels_of_windows
from levelfield.statistics.student import MIN_LAUNCHES, spread_of
from studies.commands import MachineRecord

Verdict = Literal["within", "not shown", "outside", "no limit"]


class Window(msgspec.Struct, frozen=True):
    """One arm's turn."""

    arm: str
    median_ns: float
    calls: int
    supervisor_share: float | None = None
    """CPU time of a tool's own supervisor while its worker lives, as a share of one core; None: it has no supervisor,
    or it was not asked for."""


class Round(msgspec.Struct, frozen=True):
    """One turn of every arm, in the order they were taken."""

    windows: tuple[Window, ...]
    disturbed: str = ""
    """By which outside signal; empty: it was not, or that could not be known (the trial leaves no round out)."""


class Generation(msgspec.Struct, frozen=True):
    """Every arm launched anew, and measured against the others."""

    rounds: tuple[Round, ...]


class Limit(msgspec.Struct, frozen=True):
    """How far two arms may be apart."""

    share: float | None = None
    """Of the second arm's time."""
    ns: float | None = None

    def __str__(self) -> str:
        if self.share is not None:
            return f"{self.share:.0%}"
        return "none" if self.ns is None else f"{self.ns / 1000:g} µs"


class Contrast(msgspec.Struct, frozen=True):
    """Two arms to be compared."""

    first: str
    second: str
    limit: Limit
    says: str
    """What is compared, in words."""
    one_process: bool = False
    """Both are loops of one process, which take many short turns: what is particular to a launch is in both."""


class Interval(msgspec.Struct, frozen=True):
    """An estimate with its 95 % interval; no interval where launches are too few."""

    value: float
    low: float | None
    high: float | None

    def map(self, convert: Callable[[float], float]) -> "Interval":
        """Return the value and both bounds, converted."""
        low, high = (None if bound is None else convert(bound) for bound in (self.low, self.high))
        return Interval(convert(self.value), low, high)


class Finding(msgspec.Struct, frozen=True):
    """The result of a contrast."""

    contrast: Contrast
    launches: int
    first_ns: float
    second_ns: float
    ratio: Interval
    """The first arm's time over the second's: the median over launches."""
    mean_ratio: Interval
    """The same as a geometric mean with its t interval; shown, and not judged by."""
    difference_ns: Interval
    """The median over launches."""
    verdict: Verdict


class Cell(msgspec.Struct, frozen=True):
    """One model on one backend."""

    backend: str
    case: Case
    arms: tuple[str, ...]
    generations: tuple[Generation, ...]
    findings: tuple[Finding, ...]
    notes: dict[str, str] = {}
    """Commands and settings of the other side."""
    failure: str = ""
    seconds: float = 0.0
    """That it took, launches and all; 0: not kept."""


class Trial(MachineRecord, frozen=True, kw_only=True):
    """The whole record."""

    TRIAL: ClassVar = "harness"
    SCHEMA: ClassVar = 2

    finished: str
    seed: int
    images: tuple[Image, ...]
    artifacts: tuple[Artifact, ...]
    load_before: tuple[float, float, float]
    """Load averages of the machine, before and after."""
    load_after: tuple[float, float, float]
    settings: dict[str, float]
    versions: dict[str, str] = msgspec.field(default_factory=dict)
    """Of the tools and what they compute with."""
    cells: tuple[Cell, ...] = ()
    pooled: dict[str, tuple[Finding, ...]] = msgspec.field(default_factory=dict)
    """By model: what all its backends say together."""

    def updated(self, **changes: Any) -> Self:  # noqa: ANN401  (fields of any type)
        """Return the record with these changes, finished now."""
        return msgspec.structs.replace(self, finished=utc_now(), load_after=os.getloadavg(), **changes)


CONFIDENCE = 0.95


def launch_levels(generations: Sequence[Generation], arms: Sequence[str]) -> Floats:
    """Return the log level of each launch: these trials warm up by a rule of their own, and leave no window out."""
    columns = {arm: index for index, arm in enumerate(arms)}
    logs = np.full((len(generations), max((len(each.rounds) for each in generations), default=0), len(arms)), np.nan)
    for g, generation in enumerate(generations):
        for r, one in enumerate(generation.rounds):
            for window in one.windows:
                logs[g, r, columns[window.arm]] = math.log(window.median_ns)
    return levels_of_windows(logs)


def find(contrast: Contrast, generations: Sequence[Generation], arms: Sequence[str]) -> Finding:
    """Estimate a contrast from all generations, and compare it with its limit.

    Notes
    -----
    The launch is the unit: differences are taken within a generation, and intervals are over generations.
    """
    first, second = _levels(contrast, generations, arms)
    return _finding(contrast, first, second, typical=_mean if contrast.one_process else _median)


def _levels(contrast: Contrast, generations: Sequence[Generation], arms: Sequence[str]) -> tuple[Floats, Floats]:
    """Return the log levels of a contrast's two arms by launch, from the rounds in which both took a window."""
    both = {contrast.first, contrast.second}
    kept = [
        Generation(tuple(one for one in each.rounds if both <= {window.arm for window in one.windows}))
        for each in generations
    ]
    present = {window.arm for each in kept for one in each.rounds for window in one.windows}
    names = [arm for arm in arms if arm in present]
    levels = launch_levels(kept, names)
    return levels[:, names.index(contrast.first)], levels[:, names.index(contrast.second)]


def _mean(values: Floats) -> Interval:
    """Return the mean with its t interval, no launch left out: in one process one of another kind is so for both."""
    mean = float(values.mean())
    if values.size < MIN_LAUNCHES:
        return Interval(mean, None, None)
    critical = float(scipy.special.stdtrit(values.size - 1, (1 + CONFIDENCE) / 2))
    half = critical * spread_of(values) / math.sqrt(values.size)
    return Interval(mean, mean - half, mean + half)


def pooled(contrast: Contrast, cells: Sequence[Cell]) -> Finding:
    """Judge what all backends of a model say together: the harness is the same around each of them.

    Notes
    -----
    The median over all launches of all backends, with its distribution-free interval, as for one backend.
    """
    levels = [_levels(contrast, cell.generations, cell.arms) for cell in cells]
    first, second = np.concatenate([one for one, _ in levels]), np.concatenate([other for _, other in levels])
    return _finding(contrast, first, second, typical=_median)


def _finding(contrast: Contrast, first: Floats, second: Floats, *, typical: Callable[..., Interval]) -> Finding:
    ratio = typical(first - second).map(math.exp)
    difference = typical(np.exp(first) - np.exp(second))
    return Finding(
        contrast=contrast,
        launches=len(first),
        first_ns=float(np.exp(np.median(first))),
        second_ns=float(np.exp(np.median(second))),
        ratio=ratio,
        mean_ratio=_mean(first - second).map(math.exp),
        difference_ns=difference,
        verdict=_verdict(contrast.limit, ratio, difference),
    )


def _median(values: Floats) -> Interval:
    found = scipy.stats.quantile_test(values, p=0.5).confidence_interval(CONFIDENCE)
    bounded = math.isfinite(found.low) and math.isfinite(found.high)  # by six launches or more
    low, high = (float(found.low), float(found.high)) if bounded else (None, None)
    return Interval(float(np.median(values)), low, high)


def _verdict(limit: Limit, ratio: Interval, difference: Interval) -> Verdict:
    """Decide by the interval: a harness that seems faster than a bare loop is wrong too."""
    if limit.share is not None:
        interval, equal, allowed = ratio, 1.0, limit.share
    elif limit.ns is not None:
        interval, equal, allowed = difference, 0.0, limit.ns
    else:
        return "no limit"
    if interval.low is None or interval.high is None:
        return "not shown"
    if equal - allowed <= interval.low and interval.high <= equal + allowed:
        return "within"
    return "outside" if interval.low > equal + allowed or interval.high < equal - allowed else "not shown"


_COLUMNS = ("model", "backend", "first", "second", "first takes", "second takes", "ratio (95 %)", "difference, µs")


def summary(trial: Trial) -> str:
    """Say how many contrasts of each kind are within their limits, and which is the worst."""
    said = []
    for title, inside in (("In one process", True), ("Between two processes", False)):
        if found := _with_bare_loop(trial, one_process=inside):
            counts = Counter(finding.verdict for finding in found.values())
            text = ", ".join(f"{count} {verdict}" for verdict, count in counts.items())
            said.append(f"{title}: {text}; farthest from the other {_worst(found)}.")
    return " ".join(said)


def _with_bare_loop(trial: Trial, *, one_process: bool) -> dict[tuple[str, str], Finding]:
    """Return the contrasts with a bare loop, by model and backend."""
    return {
        (cell.case.model, cell.backend): finding
        for cell in trial.cells
        for finding in cell.findings
        if finding.contrast.second == "bare loop" and finding.verdict != "no limit"
        if finding.contrast.one_process is one_process
    }


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
