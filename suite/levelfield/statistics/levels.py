"""From windows to launches: one robust log level for each launch, drift of the rounds removed where it is common.

A round is short beside the drift of a machine (4–6 % from round to round on a shared virtual machine), and all arms of
a round meet the same drift. So each window is first taken relative to its round; only then are the windows of a launch
averaged, robustly, since one window in ten may hold a spike.
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike

from levelfield.statistics.arrays import Floats, finite_or_missing, median_of_present

TRIMMED = 0.25
"""Share of windows left out at either end before averaging (the midmean): keeps 85–90 % of the mean's efficiency
under normal noise and survives a disturbed window in four (Tukey 1977, Exploratory Data Analysis, ch. 19)."""


def levels_of_windows(log_windows: ArrayLike) -> Floats:
    """Return one log level for each launch.

    `log_windows`, shape (generations, rounds, arms), log of time: log of each window's summary (its median call); NaN
    where there is none: a failed launch, a round that was not reached, a window left out as a slow start. Returns shape
    (generations, arms), log of time: NaN where a launch has no window. Differences along a row are free of the rounds'
    common drift; each row's mean is the typical level of its rounds. Raises UnusableData: infinite values, or not three
    dimensions.

    Notes
    -----
    Rounds in which an arm is missing still count for the others: the drift of a round is estimated from the arms that
    are present, after each arm's own level in the generation is taken off, so that a missing slow arm does not look
    like a fast round.
    """
    windows = finite_or_missing(log_windows, dimensions=3, what="windows")
    if windows.size == 0:
        return np.full((windows.shape[0], windows.shape[2]), np.nan)
    return _polished(windows, np.median if not np.isnan(windows).any() else median_of_present)


def _polished(windows: Floats, median: Callable[..., Floats]) -> Floats:
    """Median polish of every generation (Tukey 1977, ch. 11), then the midmean of what is left of each launch."""
    level = median(windows, axis=1, keepdims=True)
    for _ in range(3):
        drift = median(windows - level, axis=2, keepdims=True)
        level = median(windows - drift, axis=1, keepdims=True)
    typical: Floats = median(drift, axis=1, keepdims=True)
    return _midmean(windows - (drift - typical))


def _midmean(values: Floats) -> Floats:
    """Trimmed mean over axis 1, NaN left out; NaN where there is nothing."""
    ordered = np.sort(values, axis=1)  # NaN last
    counts = (~np.isnan(values)).sum(axis=1, keepdims=True)
    cut = np.floor(TRIMMED * counts).astype(np.int64)
    index = np.arange(values.shape[1])[None, :, None]
    inside = (index >= cut) & (index < counts - cut)
    sums = np.where(inside, np.nan_to_num(ordered), 0.0).sum(axis=1)
    kept = inside.sum(axis=1)
    means: Floats = np.where(kept > 0, sums / np.maximum(kept, 1), np.nan)
    return means
