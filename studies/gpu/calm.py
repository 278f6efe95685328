"""Which windows on a GPU were calm by the probes around them, and what of the windows' spread that explains."""

import math
import statistics
from collections.abc import Sequence

import msgspec

from levelfield.record.schema import Absent

LOW_SHARE = 0.25
"""The low mode of a probe is the median of this share of its shortest times."""
CALM = 1.05
"""A window is calm where each probe before and after it took at most so many times its low mode."""
LIMITS = (1.02, CALM, 1.10)
"""Also looked at, to see whether the limit matters."""
_LEAST = 3
"""Fewer windows of an arm in a launch give no level."""


class Probe(msgspec.Struct, frozen=True):
    """Times of fixed work on the GPU."""

    product_ns: int
    copy_ns: int


class Window(msgspec.Struct, frozen=True, kw_only=True):
    """One window, the probes around it, and what NVML said right after it."""

    launch: int
    arm: str
    median_ns: float
    calls: int
    probed_before: Probe
    probed_after: Probe
    sm_clock_mhz: int | Absent
    memory_clock_mhz: int | Absent
    temperature_c: int | Absent
    power_mw: int | Absent
    throttled: tuple[str, ...] | Absent


class Case(msgspec.Struct, frozen=True):
    """All windows of a model, in the order in which they were taken."""

    model: str
    windows: tuple[Window, ...]


class Spread(msgspec.Struct, frozen=True):
    """What a choice of windows scatters by."""

    windows: int
    window_sd: float
    """Standard deviation of log window medians about the mean of their arm in their launch."""
    launch_sd: float
    """Standard deviation of the launches' levels, pooled over the arms."""
    ratio: float
    """Second identical arm over the first: geometric mean over launches."""
    ratio_sd: float
    """Standard deviation of the launches' log ratios; what taking turns leaves."""


def low_mode(times_ns: Sequence[int]) -> float:
    """Return the typical time of the undisturbed probes.

    Examples
    --------
    >>> low_mode([100, 101, 100, 102, 150, 151, 149, 300])
    100.0
    """
    ordered = sorted(times_ns)
    return float(statistics.median(ordered[: max(1, math.ceil(LOW_SHARE * len(ordered)))]))


def excess(windows: Sequence[Window]) -> list[float]:
    """Return for each window the largest ratio of a probe around it to that probe's low mode."""
    around = [(one.probed_before, one.probed_after) for one in windows]
    product = low_mode([each.product_ns for both in around for each in both])
    copy = low_mode([each.copy_ns for both in around for each in both])
    return [max(max(each.product_ns / product, each.copy_ns / copy) for each in both) for both in around]


def calm(windows: Sequence[Window], limit: float = CALM) -> list[Window]:
    """Return the windows between calm probes."""
    return [window for window, found in zip(windows, excess(windows), strict=True) if found <= limit]


def spread(windows: Sequence[Window]) -> Spread | None:
    """Return how windows and launches scatter; None where there are fewer than two launches of both arms."""
    groups: dict[tuple[str, int], list[float]] = {}
    for one in windows:
        groups.setdefault((one.arm, one.launch), []).append(math.log(one.median_ns))
    groups = {key: values for key, values in groups.items() if len(values) >= _LEAST}
    levels: dict[str, dict[int, float]] = {}
    for (arm, launch), values in groups.items():
        levels.setdefault(arm, {})[launch] = statistics.fmean(values)
    if len(levels) != 2:
        return None
    first, second = (levels[arm] for arm in sorted(levels))
    both = sorted(first.keys() & second.keys())
    if len(both) < 2:
        return None
    inner = [value - statistics.fmean(values) for values in groups.values() for value in values]
    free = len(inner) - len(groups)
    ratios = [second[launch] - first[launch] for launch in both]
    return Spread(
        windows=len(inner),
        window_sd=math.sqrt(sum(value**2 for value in inner) / free),
        launch_sd=math.sqrt(statistics.fmean(statistics.variance(list(one.values())) for one in levels.values())),
        ratio=math.exp(statistics.fmean(ratios)),
        ratio_sd=statistics.stdev(ratios),
    )


def correlation(windows: Sequence[Window]) -> float:
    """Return Pearson's correlation of a window with the probes around it, both within their launch and arm, as logs."""
    found = [math.log(value) for value in excess(windows)]
    own = [math.log(one.median_ns) for one in windows]
    keys = [(one.arm, one.launch) for one in windows]
    return _pearson(_centred(found, keys), _centred(own, keys))


def _centred(values: Sequence[float], keys: Sequence[tuple[str, int]]) -> list[float]:
    groups: dict[tuple[str, int], list[float]] = {}
    for key, value in zip(keys, values, strict=True):
        groups.setdefault(key, []).append(value)
    return [value - statistics.fmean(groups[key]) for key, value in zip(keys, values, strict=True)]


def _pearson(first: Sequence[float], second: Sequence[float]) -> float:
    scale = math.sqrt(sum(value**2 for value in first) * sum(value**2 for value in second))
    return sum(a * b for a, b in zip(first, second, strict=True)) / scale if scale else math.nan


def markdown(cases: Sequence[Case]) -> str:
    """Return the spreads of all cases as a table."""
    lines = [
        "| case | windows | of them | between windows | between launches | A/A | its spread | correlation |",
        "| --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    for case in cases:
        text = f"{correlation(case.windows):.2f}" if case.windows else ""
        choices = [("all", case.windows), *((f"probe ≤ {limit:.2f}", calm(case.windows, limit)) for limit in LIMITS)]
        for name, chosen in choices:
            found = spread(chosen)
            lines.append(f"| {' | '.join((case.model, str(len(chosen)), name, *_figures(found), text))} |")
    return "\n".join(lines) + "\n"


def _figures(found: Spread | None) -> tuple[str, ...]:
    if found is None:
        return ("–",) * 4
    window, launch, ratio = (f"{100 * each:.2f} %" for each in (found.window_sd, found.launch_sd, found.ratio_sd))
    return window, launch, f"{found.ratio:.4f}", ratio
