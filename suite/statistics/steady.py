"""Did warm-up end? Steady-state detection for one launch.

Programs do not simply warm up after N calls: some settle, some slow down, some never settle (Barrett et al. 2017: fewer
than half of their pairs of machine and program behaved as people assume). So nothing is skipped by count. The series
is cut into segments of equal level; each is compared with the level of the second half, within what the noise of that
same launch allows. What lies before the first that agrees is marked as warm-up; if the end itself is off, or still
moving, there is no steady state.

      ─┐                       warm-up: left out, marked
       └─┐    ╷
         └────┴──────────      agree with the settled level; a spike in between is kept, it is a sample like others

Noise on a shared machine is correlated: neighbouring windows share the state of the machine. The effective number of
values in a segment is therefore reduced by the autocorrelation time, or every busy second would look like a change of
the program. For the same reason, give windows rather than calls where a launch has many windows.

References
----------
E. Barrett, C. F. Bolz-Tereick, R. Killick, S. Mount, L. Tratt (2017). Virtual machine warmup blows hot and cold.
OOPSLA '17, article 52.
"""

import enum
import itertools
from typing import NamedTuple

import msgspec
import numpy as np
from numpy.typing import ArrayLike, NDArray

from suite.statistics.arrays import Floats, positive_times
from suite.statistics.noise import Noise, trend_of
from suite.statistics.segments import change_points, is_straight, robust_spread

MIN_POINTS = 6
"""Fewest points that can show anything: six in order are the first whose trend is significant at `ALPHA_TREND`."""

MAX_POINTS = 200
"""Longer series are cut into this many stretches and their medians taken: the segmentation's cost is quadratic."""

LEAST_SHARE = 0.25
"""The settled part must hold at least this share of the series (Barrett et al.: the last 500 of 2,000 calls)."""

MOST_DISTURBED = 1 / 3
"""Share of the settled part that may lie off its level before it is called unstable."""

ALPHA = 0.005
"""One-sided level at which a segment counts as off the settled level."""

ALPHA_DENIAL = 0.001
"""The same before a steady state is denied: to mark a window too many costs a window, to deny costs the launch."""

LEAST_END = 0.05
"""Share of the series that must be off at its end: less is a disturbance."""

DEFAULT_TOLERANCE = 0.01
"""A change of level below this is not looked for: it cannot carry a ratio over a margin of 2 %."""


class Course(enum.StrEnum):
    """How a launch behaved."""

    FLAT = "flat"
    WARM_UP = "warm-up"
    SLOW_DOWN = "slow-down"
    """It settled at a level above the one it began with."""
    STILL_IMPROVING = "still improving"
    STILL_SLOWING = "still slowing"
    UNSTABLE = "unstable"
    TOO_FEW = "too few"


class SteadyState(msgspec.Struct, frozen=True):
    """Whether a launch became steady, and from where on."""

    steady: bool
    course: Course
    left_out: int
    """Number of values before the steady part, which are *marked* and stay in the record; 0 if there is no steady part:
    nothing is left out silently."""


def steady_state(times: ArrayLike, *, tolerance: float = DEFAULT_TOLERANCE) -> SteadyState:
    """Decide whether and from where on a launch is steady.

    Parameters
    ----------
    times : array_like, shape (n,), any unit of time
        Calls, or summaries of windows, of **one** launch in the order of measurement.
    tolerance : float
        Relative change of level that does not matter.

    Returns
    -------
    SteadyState
        With fewer than `MIN_POINTS` values it cannot be known, and is not claimed (`Course.TOO_FEW`).

    Raises
    ------
    InsufficientData
        No values.
    UnusableData
        NaN, infinite, zero or negative times.
    """
    values = positive_times(times, what="times")
    if values.size < MIN_POINTS:
        return _unsteady(Course.TOO_FEW)
    logs = np.log(values)
    edges = np.linspace(0, values.size, min(values.size, MAX_POINTS) + 1).astype(np.int64)
    points = _medians(logs, edges)
    starts = change_points(points)
    bounds = list(itertools.pairwise([*starts, points.size]))
    settled = Noise(points[points.size // 2 :])
    climb = trend_of(points, settled.correlation_time, tolerance) if is_straight(points, starts) else 0.0
    for alpha in (ALPHA, ALPHA_DENIAL):
        offs = [_offset(points, bound, settled, tolerance, alpha) for bound in bounds]
        found = _classify(logs, _Pieces(points, edges, bounds, offs), settled.correlation_time, tolerance)
        if found.steady:
            break
    if found.steady and climb != 0:
        return _moving(climb)
    return found


class _Pieces(NamedTuple):
    """A series in segments: its points, where they begin in the input, the segments and how far each lies off."""

    points: Floats
    edges: NDArray[np.int64]
    bounds: list[tuple[int, int]]
    offs: list[float]


def _classify(logs: Floats, pieces: _Pieces, correlation_time: float, tolerance: float) -> SteadyState:
    points, edges, bounds, offs = pieces
    n = points.size
    last = bounds[-1][1] - bounds[-1][0]
    if offs[-1] != 0 and last >= max(2, LEAST_END * n):
        return _moving(offs[-1])
    agreeing = [a for (a, _), off in zip(bounds, offs, strict=True) if off == 0]
    first = agreeing[0] if agreeing else n
    if n - first < max(MIN_POINTS // 2, LEAST_SHARE * n):
        return _unsteady(Course.UNSTABLE)
    disturbed = sum(b - a for (a, b), off in zip(bounds, offs, strict=True) if off != 0 and a >= first)
    if disturbed > MOST_DISTURBED * (n - first):
        return _unsteady(Course.UNSTABLE)
    trend = trend_of(points[first:], correlation_time, tolerance)
    if trend != 0:
        return _moving(trend)
    return _found(logs, int(edges[first]), int(edges[1]), tolerance)


def _found(logs: Floats, start: int, stretch: int, tolerance: float) -> SteadyState:
    """Describe a steady launch; in a long series, single slow first calls hide in the median of the first stretch."""
    level = float(np.median(logs[start:]))
    if start == 0 and stretch > 1:
        spread = robust_spread(logs)
        fence = level + max(tolerance, 5 * spread)
        while start < stretch - 1 and logs[start] > fence:
            start += 1
    before = float(np.median(logs[:start])) - level if start else 0.0
    course = Course.FLAT if not start else Course.WARM_UP if before > 0 else Course.SLOW_DOWN
    return SteadyState(steady=True, course=course, left_out=start)


def _offset(points: Floats, bound: tuple[int, int], settled: Noise, tolerance: float, alpha: float) -> float:
    """How far a segment lies off the settled level (log); 0 if within tolerance and noise.

    A segment in the second half is compared with the rest of that half: its own offset must not count as noise.
    """
    start, stop = bound
    n = points.size
    middle = n // 2
    inside = stop - max(start, middle)
    if inside > (n - middle) / 2 or n - (stop - start) < MIN_POINTS // 2:
        return 0.0  # it is the settled level
    noise, level = settled, settled.level
    if inside > max(1, LEAST_END * n):  # less cannot inflate a median deviation
        rest = np.concatenate((points[middle : max(start, middle)], points[stop:]))
        level = float(np.median(rest))
        noise = Noise(rest) if rest.size >= MIN_POINTS - 1 else Noise(_points_outside(points, bound))
    elif noise.size < MIN_POINTS - 1:
        noise = Noise(_points_outside(points, bound))
    off = float(np.median(points[start:stop])) - level
    return off if abs(off) > max(tolerance, noise.allows(stop - start, alpha)) else 0.0


def _points_outside(points: Floats, bound: tuple[int, int]) -> Floats:
    """The last few points outside the segment: in a short series, half of it is too little to estimate noise from."""
    return np.concatenate((points[: bound[0]], points[bound[1] :]))[-(MIN_POINTS - 1) :]


def _medians(logs: Floats, edges: NDArray[np.int64]) -> Floats:
    if edges.size - 1 == logs.size:
        return logs
    return np.array([np.median(logs[a:b]) for a, b in itertools.pairwise(edges)])


def _moving(change: float) -> SteadyState:
    return _unsteady(Course.STILL_IMPROVING if change < 0 else Course.STILL_SLOWING)


def _unsteady(course: Course) -> SteadyState:
    return SteadyState(steady=False, course=course, left_out=0)
