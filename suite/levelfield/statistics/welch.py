"""Standard error of a difference of means whose variances differ.

References
----------
B. L. Welch (1947). The generalization of "Student's" problem when several different population variances are involved.
Biometrika 34, 28–35.
F. E. Satterthwaite (1946). An approximate distribution of estimates of variance components. Biometrics Bulletin 2,
110–114.
"""

import numpy as np

from levelfield.statistics.arrays import Floats


def standard_error(
    first: Floats | float, first_freedom: Floats | float, second: Floats | float, second_freedom: Floats | float
) -> tuple[Floats, Floats]:
    """Return the standard error of a difference of two independent means, and its degrees of freedom.

    Parameters
    ----------
    first, second : array_like
        Estimated variance of each mean: that of one value over their number.
    first_freedom, second_freedom : array_like
        Degrees of freedom that each estimate rests on.

    Returns
    -------
    error, freedom : ndarray
        Satterthwaite's degrees of freedom; the sum of both where nothing varies.
    """
    total = np.add(first, second, dtype=np.float64)
    with np.errstate(divide="ignore", invalid="ignore"):
        freedom = total**2 / (np.square(first) / first_freedom + np.square(second) / second_freedom)
    return np.sqrt(total), np.where(total > 0, freedom, np.add(first_freedom, second_freedom, dtype=np.float64))
