"""From the windows of a trial to findings: the interval of a contrast, held against its limit."""

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from suite.statistics.errors import InsufficientData
from suite.statistics.levels import launch_levels
from suite.statistics.ratios import ratio_interval
from suite.statistics.student import MIN_LAUNCHES, half_width, spread_of
from suite.trials.record import Contrast, Finding, Generation, Interval, Limit, Verdict

CONFIDENCE = 0.95
ENOUGH = 0.5
"""A trial may stop when half the interval is no longer than this share of the limit: what lies half a limit away from
no difference is then decided."""


def log_windows(generations: Sequence[Generation], arms: Sequence[str]) -> NDArray[np.float64]:
    """Return the log of each window's median, shape (generations, rounds, arms); every arm has one in every round."""
    place = {arm: index for index, arm in enumerate(arms)}
    table = np.full((len(generations), max(len(each.rounds) for each in generations), len(arms)), np.nan)
    for g, generation in enumerate(generations):
        for r, one in enumerate(generation.rounds):
            for window in one.windows:
                table[g, r, place[window.arm]] = math.log(window.median_ns)
    return table


def find(
    contrast: Contrast, generations: Sequence[Generation], arms: Sequence[str], *, sequential: bool = False
) -> Finding:
    """Estimate a contrast from all generations, and hold it against its limit.

    Parameters
    ----------
    sequential
        Whether the width of the intervals was allowed to end the trial; widens them.

    Notes
    -----
    The launch is the unit: differences are taken within a generation, and the t interval is over generations.
    """
    levels = launch_levels(log_windows(generations, arms))
    first, second = levels[:, arms.index(contrast.first)], levels[:, arms.index(contrast.second)]
    try:
        found = ratio_interval(first, second, confidence=CONFIDENCE, sequential=sequential)
        ratio = Interval(found.ratio, found.low, found.high)
    except InsufficientData:
        ratio = Interval(math.exp(float((first - second).mean())), None, None)
    difference = _difference(np.exp(first) - np.exp(second), sequential=sequential)
    return Finding(
        contrast=contrast,
        launches=len(generations),
        first_ns=float(np.exp(first.mean())),
        second_ns=float(np.exp(second.mean())),
        ratio=ratio,
        difference_ns=difference,
        verdict=_verdict(contrast.limit, ratio, difference),
    )


def _difference(values: NDArray[np.float64], *, sequential: bool) -> Interval:
    mean = float(values.mean())
    if values.size < MIN_LAUNCHES:
        return Interval(mean, None, None)
    half = half_width(spread_of(values), values.size, confidence=CONFIDENCE, sequential=sequential)
    return Interval(mean, mean - half, mean + half)


def _verdict(limit: Limit, ratio: Interval, difference: Interval) -> Verdict:
    if limit.share is not None:
        return _held(ratio, 1.0, limit.share)
    return "no limit" if limit.ns is None else _held(difference, 0.0, limit.ns)


def _held(interval: Interval, none: float, limit: float) -> Verdict:
    """Hold an interval against `none` ± `limit`: a harness that looks faster than a bare loop is wrong as well."""
    if interval.low is None or interval.high is None:
        return "not shown"
    if none - limit <= interval.low and interval.high <= none + limit:
        return "within"
    return "outside" if interval.low > none + limit or interval.high < none - limit else "not shown"


def precise(findings: Sequence[Finding]) -> bool:
    """Whether every contrast with a limit is known well enough to stop."""
    return all(_precise(finding) for finding in findings)


def _precise(finding: Finding) -> bool:
    limit = finding.contrast.limit
    allowed = limit.share if limit.share is not None else limit.ns
    interval = finding.ratio if limit.share is not None else finding.difference_ns
    if allowed is None:
        return True
    return (
        interval.low is not None
        and interval.high is not None
        and interval.high - interval.low <= (2 * ENOUGH * allowed)
    )
