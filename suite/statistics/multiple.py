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
from numpy.typing import ArrayLike

DEFAULT_Q = 0.01
"""Of a hundred reported changes, one may be wrong."""


class Discoveries(msgspec.Struct, frozen=True):
    """Cases of a grid that are significant after correction."""

    found: tuple[bool, ...]
    adjusted: tuple[float, ...]
    """Adjusted p value of each case: found where it is at most q."""


def benjamini_hochberg(p_values: ArrayLike, *, q: float = DEFAULT_Q) -> Discoveries:
    """Return which cases are different after Benjamini–Hochberg correction.

    Parameters
    ----------
    p_values : array_like, shape (cases,)
        Two-sided, from `suite.statistics.ratios`; one for each case.
    q : float
        False discovery rate. Valid for independent tests, and under positive dependence, such as on one machine.

    Raises
    ------
    ValueError
        A p value or a rate outside 0 to 1.
    """
    if not 0 < q < 1:
        raise ValueError(f"A false discovery rate lies between 0 and 1, such as 0.01; {q} does not.")
    p = np.asarray(p_values, dtype=np.float64)
    adjusted = scipy.stats.false_discovery_control(p, method="bh") if p.size else p
    return Discoveries(found=tuple((adjusted <= q).tolist()), adjusted=tuple(adjusted.tolist()))
