"""What the machine did meanwhile: the canary, signals from outside, and what disturbed rounds."""

from collections.abc import Callable, Iterable

import numpy as np

from levelfield.analysis import collect
from levelfield.analysis.types import Canary, CanaryPoint, NoiseSummary
from levelfield.record.schema import Absent, Noise, Run
from levelfield.statistics.shift import LEAST, has_shifted

MIN_POINTS = 6
"""Fewest generations of the canary from which a drift is reported: two in each third."""


def canary(run: Run) -> Canary | None:
    """Follow the canary through all blocks in the order of time, or None where it took no part."""
    points: list[CanaryPoint] = []
    name = ""
    for block in run.blocks:
        for launch in collect.summaries(block, block.canary):
            if launch.windows:
                name = block.canary or name
                median_ns = float(np.median([window.median_ns for window in launch.windows]))
                points.append(CanaryPoint(block.case.id, launch.generation, launch.launch.started, median_ns))
    if not points:
        return None
    points.sort(key=lambda point: point.started)
    medians = np.array([point.median_ns for point in points])
    third = len(points) // 3
    return Canary(
        arm=name,
        points=tuple(points),
        median_ns=float(np.median(medians)),
        spread=float(medians.max() / medians.min() - 1),
        drift=float(np.median(medians[-third:]) / np.median(medians[:third]) - 1)
        if len(points) >= MIN_POINTS
        else None,
        moved=len(points) >= LEAST and has_shifted(np.log(medians)),
    )


def noise(run: Run) -> NoiseSummary | None:
    """Sum the outside signals over all windows, as shares of one core's time; None where none were read."""
    readings = [turn.noise for block in run.blocks for *_, turn in collect.turns(block) if turn.noise is not None]
    elapsed_ns = sum(reading.elapsed_ns for reading in readings)
    if not elapsed_ns:
        return None
    return NoiseSummary(
        windows=len(readings),
        elapsed_ns=elapsed_ns,
        steal_share=_share(readings, lambda reading: reading.steal_ns),
        pressure_share=_share(readings, lambda reading: reading.pressure_ns),
        others_share=_share(readings, lambda reading: reading.others_ns),
        idle_workers_share=_share(readings, lambda reading: reading.idle_workers_ns),
        throttled=_sum(reading.throttled for reading in readings),
        quota_throttled=_sum(reading.quota_throttled for reading in readings),
    )


def _sum(values: Iterable[int | Absent]) -> int | Absent:
    known = collect.known(values)
    return known if isinstance(known, Absent) else sum(known)


def _share(readings: Iterable[Noise], signal: Callable[[Noise], int | Absent]) -> float | Absent:
    """Add a signal over the windows in which it was read, over those windows' time."""
    return collect.per_ns((signal(reading), reading.elapsed_ns) for reading in readings)


def fate(disturbed: int, kept: int) -> str:
    """Say what became of disturbed rounds, as the end of a sentence that begins with them.

    Examples
    --------
    >>> fate(3, 3)
    'count all the same, since their generations had no others'
    >>> fate(3, 0)
    'are left out'
    >>> fate(3, 1)
    'are left out, but for 1 whose generation had no others'
    """
    if kept == disturbed:
        return "count all the same, since their generations had no others"
    return f"are left out, but for {kept} whose generation had no others" if kept else "are left out"
