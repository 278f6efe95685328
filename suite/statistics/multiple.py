"""Many cases at once: the false discovery rate over the grid.

With a hundred cases and 5 % each, five would be called different in every run of identical programs. Controlling the
false discovery rate keeps the *share of wrong ones among those reported* below q.

References
----------
Y. Benjamini, Y. Hochberg (1995). Controlling the false discovery rate. JRSS B 57, 289–300.
Y. Benjamini, D. Yekutieli (2005). False discovery rate-adjusted multiple confidence intervals for selected parameters.
JASA 100, 71–81.
"""

import msgspec
import numpy as np
import scipy
from numpy.typing import ArrayLike, NDArray

from suite.statistics.arrays import Floats, finite_or_missing
from suite.statistics.errors import UnusableData

DEFAULT_Q = 0.01
"""Of a hundred reported changes, one may be wrong."""


class Discoveries(msgspec.Struct, frozen=True):
    """Cases of a grid that are significant after correction."""

    found: tuple[bool, ...]
    adjusted: tuple[float | None, ...]
    """Adjusted p value of each case: found where it is at most q; None where the p value is missing."""


def benjamini_hochberg(p_values: ArrayLike, *, q: float = DEFAULT_Q) -> Discoveries:
    """Return which cases are different after Benjamini–Hochberg correction.

    Parameters
    ----------
    p_values : array_like, shape (cases,)
        Two-sided, from `suite.statistics.ratios`; NaN where a case has none (too few launches, failed).
    q : float
        False discovery rate. Valid for independent tests, and under positive dependence, such as on one machine.

    Raises
    ------
    UnusableData
        A p value outside [0, 1].
    """
    if not 0 < q < 1:
        raise ValueError(f"A false discovery rate lies between 0 and 1, such as 0.01; {q} does not.")
    p = finite_or_missing(p_values, dimensions=1, what="p values")
    there = ~np.isnan(p)
    if ((p[there] < 0) | (p[there] > 1)).any():
        raise UnusableData("A p value lies outside 0 to 1.")
    adjusted: Floats = np.full(p.size, np.nan)
    if there.any():
        adjusted[there] = scipy.stats.false_discovery_control(p[there], method="bh")
    found: NDArray[np.bool_] = np.nan_to_num(adjusted, nan=np.inf) <= q
    return Discoveries(
        found=tuple(bool(x) for x in found),
        adjusted=tuple(None if np.isnan(x) else float(x) for x in adjusted),
    )
