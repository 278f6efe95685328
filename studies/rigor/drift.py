"""How the levels of two frameworks drift against each other from generation to generation, and what that costs.

Pairing by generation removes what a machine does to all arms alike. It does not remove what it does to one framework
alone (another use of caches or memory bandwidth, say). If that drifts slowly, successive launches of a pair are alike,
a t interval over a few of them is too narrow, and no A/A trial can show it: two arms of one framework drift together.

The difference of the two frameworks' levels is known in every generation, from several launches of each. Its
autocorrelation is that of the drift, made smaller by what differs between launches; that of a single pair of launches,
which is what an interval rests on, is estimated by averaging over all pairs.

References
----------
M. S. Bartlett (1946). On the theoretical specification and sampling properties of autocorrelated time-series.
Supplement to the Journal of the Royal Statistical Society 8, 27–41 (an autocorrelation has the variance
1/n where there is none).
"""

import math

import numpy as np
from scipy.linalg import toeplitz
from scipy.special import ndtri, stdtrit

from studies.rigor.record import Between, Coverage
from studies.rigor.rules import Rules
from studies.rigor.table import Floats, Table
from suite.statistics.levels import levels_of_windows
from suite.statistics.student import MIN_LAUNCHES

DRAWS = 40_000
SEED = 20261122


def between(table: Table, frozen: Rules) -> Between | None:
    """Hold the first half of a stream's arms against the second; None where it is too short.

    Parameters
    ----------
    table
        A stream in which the first half of the arms is of one framework, the second of another.
    frozen
        The rules that it is judged by.
    """
    levels = _levels(table)
    half = table.arms // 2
    pairs = levels[:, :half, None] - levels[:, None, half:]
    pairs = pairs[~np.isnan(pairs).any(axis=(1, 2))]
    count = pairs.shape[0]
    lags = frozen.drift.lags
    if count < 4 * MIN_LAUNCHES or count <= 2 * lags:
        return None
    whole = pairs.mean(axis=(1, 2))
    averaged, single = autocorrelations(whole[:, None], lags), autocorrelations(pairs.reshape(count, -1), lags)
    reach = float(ndtri(0.5 + frozen.drift.confidence / 2)) / math.sqrt(count)
    coverages = [
        _coverage(pairs, single, reach, launches, confidence)
        for launches in frozen.drift.groups
        for confidence in (frozen.judge.bench_confidence, 1 - frozen.judge.ab_false_discovery_rate)
        if launches <= count
    ]
    return Between(
        generations=count,
        ratio=math.exp(float(whole.mean())),
        averaged_sd=float(whole.std(ddof=1)),
        pair_sd=float(np.sqrt(pairs.var(axis=0, ddof=1).mean())),
        averaged=tuple(averaged),
        single=tuple(single),
        reach=reach,
        coverages=tuple(coverages),
    )


def _levels(table: Table) -> Floats:
    """Return the log level of every launch, shape (generations, arms); disturbed windows are left out."""
    windows = np.log(table.median_ns)
    windows[np.repeat(table.disturbed, 2, axis=2)] = np.nan
    return levels_of_windows(windows)


def autocorrelations(series: Floats, lags: int) -> list[float]:
    """Return the autocorrelations at lags 1 to `lags`, averaged over the columns; corrected for the mean's estimation.

    The mean that is taken off makes each of them too small by about 1/n.

    Parameters
    ----------
    series : ndarray, shape (n, columns)
        Successive values of several series.
    lags : int
        The longest lag.
    """
    rest = series - series.mean(axis=0)
    count = rest.shape[0]
    variance = float((rest**2).mean())
    if not variance:
        return [0.0] * lags
    return [float((rest[lag:] * rest[:-lag]).sum() / rest.size) / variance + 1 / count for lag in range(1, lags + 1)]


def _coverage(pairs: Floats, single: list[float], reach: float, launches: int, confidence: float) -> Coverage:
    """Return what t intervals of so many successive launches cover: as counted here, and as autocorrelations imply."""
    groups = pairs.shape[0] // launches
    cut = pairs[: groups * launches].reshape(groups, launches, -1)
    critical = float(stdtrit(launches - 1, 0.5 + confidence / 2))
    half = critical * cut.std(axis=1, ddof=1) / math.sqrt(launches)
    held = np.abs(cut.mean(axis=1) - pairs.mean()) <= half
    known = min(len(single), launches - 1)
    beyond = [0.0] * (launches - 1 - known)
    upper = [min(value + reach, 1.0) for value in single[:known]]
    return Coverage(
        confidence=confidence,
        launches=launches,
        intervals=int(held.size),
        held=int(held.sum()),
        implied=implied_coverage([*single[:known], *beyond], launches, confidence),
        implied_least=implied_coverage([*upper, *beyond], launches, confidence),
    )


def implied_coverage(autocorrelations: list[float], launches: int, confidence: float) -> float:
    """Return the coverage of a t interval over successive values of a stationary normal series, by simulation.

    Parameters
    ----------
    autocorrelations
        At lags 1 to `launches` − 1. Where no series can have them (they are estimates), the nearest that one can have
        are taken: negative eigenvalues of their matrix become zero.
    launches
        Values in an interval.
    confidence
        Of the interval, were the values independent.
    """
    values, vectors = np.linalg.eigh(toeplitz([1.0, *autocorrelations]))
    root = vectors * np.sqrt(np.clip(values, 0.0, None))
    root /= np.sqrt((root**2).sum(axis=1, keepdims=True))
    draws = np.random.default_rng(SEED).standard_normal((DRAWS, launches)) @ root.T
    critical = float(stdtrit(launches - 1, 0.5 + confidence / 2))
    return float((np.abs(draws.mean(axis=1)) <= critical * draws.std(axis=1, ddof=1) / math.sqrt(launches)).mean())
