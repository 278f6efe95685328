"""The straight line through a series that a few odd values do not turn: the median of all slopes.

References
----------
H. Theil (1950). A rank-invariant method of linear and polynomial regression analysis. Indagationes Mathematicae 12.
P. K. Sen (1968). Estimates of the regression coefficient based on Kendall's tau. JASA 63, 1379–1389.
`scipy.stats.theilslopes` says the same, with an interval; to import `scipy.stats` takes a command most of a second.
"""

import msgspec
import numpy as np

from suite.statistics.arrays import Floats


class Line(msgspec.Struct, frozen=True):
    """A straight line over the positions 0, 1, 2, … of a series."""

    slope: float
    intercept: float


def line(values: Floats) -> Line:
    """Return the Theil–Sen line of a series.

    Parameters
    ----------
    values : ndarray, shape (n,)
        A series in time order, of two values or more.

    Examples
    --------
    >>> line(np.array([1.0, 3.0, 5.0, 70.0, 9.0]))
    Line(slope=2.0, intercept=1.0)
    """
    first, second = np.triu_indices(values.size, 1)
    slope = float(np.median((values[second] - values[first]) / (second - first)))
    return Line(slope, float(np.median(values) - slope * (values.size - 1) / 2))
