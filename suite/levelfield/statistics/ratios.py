"""Intervals of time ratios and of levels, from launches.

One launch gives one number: the mean log of its windows (`statistics.levels`). Windows of one launch share a
process, its memory layout and its threads, so they say nothing about the next launch; treating them as independent is
the commonest cause of false alarms (Kalibera & Jones 2013). Pairing by generation removes what all arms of a generation
have in common: the state of the machine.

References
----------
T. Kalibera, R. Jones (2013). Rigorous benchmarking in reasonable time. ISMM '13, 63–74.
A. Georges, D. Buytaert, L. Eeckhout (2007). Statistically rigorous Java performance evaluation. OOPSLA '07, 57–76.

Standard error of a difference of means whose variances differ.

References
----------
B. L. Welch (1947). The generalization of "Student's" problem when several different population variances are involved.
Biometrika 34, 28–35.
F. E. Satterthwaite (1946). An approximate distribution of estimates of variance components. Biometrics Bulletin 2,
110–114.
"""

import math

import msgspec
import numpy as np
from numpy.typing import ArrayLike

from levelfield.statistics.arrays import (
    Floats,
    InsufficientData,
    UnusableData,
    checked_confidence,
    finite_or_missing,
    without_missing,
)
from levelfield.statistics.student import MIN_LAUNCHES, EndedBy, LaunchMean, fewest_launches, mean_of


class RatioInterval(msgspec.Struct, frozen=True):
    """A time ratio *a* over *b* with its confidence interval: above 1, *a* takes longer."""

    ratio: float
    low: float
    high: float
    mean: LaunchMean
    """Of the log ratios of the generations in which both arms gave a result."""


class LevelInterval(msgspec.Struct, frozen=True):
    """The level of one arm (a time, in the unit of the input) with its confidence interval.

    It includes what generations have in common: use it to say how long a call takes, never to compare two arms.
    """

    level: float
    low: float
    high: float


def ratio_interval(
    log_a: ArrayLike, log_b: ArrayLike, *, confidence: float = 0.95, ended: EndedBy = EndedBy.PLAN
) -> RatioInterval:
    """Return the ratio of two arms with a launch-level t interval, paired by generation.

    `log_a`, `log_b`, shape (generations,), log of time: one value a launch; NaN where a launch gave none. Generations
    in which either is missing are left out. `confidence`: of the interval. `ended`: what was allowed to decide how many
    generations there are; widens it as `statistics.student` explains. Returns: with zero spread the interval has zero
    width: that is what the data say, and usually means a clock too coarse. Raises InsufficientData: fewer complete
    generations than an interval needs: `MIN_LAUNCHES`, or `FIRST_LOOK` where a verdict ends a run. Raises UnusableData:
    infinite values, or rows of different length.

    Examples
    --------
    >>> import numpy as np
    >>> a = np.log([10.1, 10.2, 10.0, 10.3, 10.1])
    >>> b = np.log([10.0, 10.1, 10.0, 10.1, 10.1])
    >>> found = ratio_interval(a, b)
    >>> round(found.ratio, 3), found.mean.launches
    (1.008, 5)
    """
    checked_confidence(confidence)
    first = finite_or_missing(log_a, dimensions=1, what="levels of the first arm")
    second = finite_or_missing(log_b, dimensions=1, what="levels of the second arm")
    if first.shape != second.shape:
        raise UnusableData(
            f"The arms have {first.size} and {second.size} generations: pairing needs one row of the same length each, "
            "NaN where a launch is missing."
        )
    difference = without_missing(first - second)
    _enough(difference.size, "complete generations of this pair", fewest_launches(ended))
    mean = mean_of(difference, ended)
    half = mean.half_width(confidence)
    return RatioInterval(
        ratio=math.exp(mean.value), low=math.exp(mean.value - half), high=math.exp(mean.value + half), mean=mean
    )


def level_interval(log_levels: ArrayLike) -> LevelInterval:
    """Return the level of one arm with a launch-level t interval on the log scale, at 95 %.

    `log_levels`, shape (generations,): one value a launch; NaN where a launch gave none.
    Raises InsufficientData: fewer than `MIN_LAUNCHES` launches gave a value. Raises UnusableData: infinite values.
    """
    values = without_missing(finite_or_missing(log_levels, dimensions=1, what="levels"))
    _enough(values.size, "launches", MIN_LAUNCHES)
    mean = mean_of(values)
    half = mean.half_width(0.95)
    return LevelInterval(math.exp(mean.value), math.exp(mean.value - half), math.exp(mean.value + half))


def _enough(launches: int, what: str, fewest: int) -> None:
    if launches < fewest:
        raise InsufficientData(f"{launches} {what}: an interval needs at least {fewest}. Measure more generations.")


def standard_error(
    first: Floats | float, first_freedom: Floats | float, second: Floats | float, second_freedom: Floats | float
) -> tuple[Floats, Floats]:
    """Return the standard error of a difference of two independent means, and its degrees of freedom.

    `first`, `second`: estimated variance of each mean: that of one value over their number. `first_freedom`,
    `second_freedom`: degrees of freedom that each estimate rests on. Returns error, freedom: Satterthwaite's degrees of
    freedom; the sum of both where nothing varies.
    """
    total = np.add(first, second, dtype=np.float64)
    with np.errstate(divide="ignore", invalid="ignore"):
        freedom = total**2 / (np.square(first) / first_freedom + np.square(second) / second_freedom)
    return np.sqrt(total), np.where(total > 0, freedom, np.add(first_freedom, second_freedom, dtype=np.float64))
