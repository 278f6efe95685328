"""Main effects and interactions of a 2^k experiment whose combinations take turns in every generation.

Each generation holds one level of every combination, so each contrast of their logarithms is one value per generation,
in which the state of the machine cancels. The mean of these values over the generations is the effect, and Student's t
gives its interval, as for a pair of arms (`suite.statistics.student`).

The contrasts are scaled so that each is the logarithm of a ratio with a plain meaning:

* the main effect of an axis is the ratio of its second level to its first, averaged over all levels of the others;
* the interaction of two axes is a ratio of ratios: how many times larger the ratio of one axis is at the second level
  of the other than at the first, averaged over the rest; that of three is the ratio of two such ratios.

So one margin holds for all of them: an interaction within 2 % says that the ratio of one axis is the same within 2 %
at either level of the other. An interaction of two axes has twice the standard error of a main effect, and needs four
times as many generations for the same width. The textbook's interaction is half of this one on the log scale.

References
----------
G. E. P. Box, J. S. Hunter, W. G. Hunter (2005). Statistics for Experimenters, ch. 5 (factorial designs at two levels).
"""

import itertools

import msgspec
import numpy as np
from numpy.typing import ArrayLike

from suite.statistics.arrays import Floats, finite_or_missing
from suite.statistics.ending import EndedBy
from suite.statistics.errors import InsufficientData
from suite.statistics.student import LaunchMean, fewest_launches, mean_of

FEWEST_AXES = 2
MOST_AXES = 3
"""Sixteen combinations would make a generation so long that the machine changes within it."""


class FactorialEffect(msgspec.Struct, frozen=True):
    """Main effect of one axis, or interaction of several."""

    axes: tuple[int, ...]
    """Indices of the axes, ascending: one for a main effect, more for an interaction."""
    mean: LaunchMean
    """Of the log ratios of the generations in which every combination has a level."""


def combinations(axes: int) -> tuple[tuple[int, ...], ...]:
    """Return the level of each axis, 0 or 1, in each of the 2^axes combinations.

    Parameters
    ----------
    axes : int
        Two or three.

    Returns
    -------
    tuple of tuple of int
        The base, all zeros, first; the last axis changes fastest.

    Raises
    ------
    ValueError
        Fewer than two axes, or more than three.
    """
    if not FEWEST_AXES <= axes <= MOST_AXES:
        raise ValueError(f"A factorial experiment has {FEWEST_AXES} or {MOST_AXES} axes; {axes} were given.")
    return tuple(itertools.product((0, 1), repeat=axes))


def contrasts(axes: int) -> dict[tuple[int, ...], Floats]:
    """Return the weights of the combinations' log levels in each effect.

    Parameters
    ----------
    axes : int
        Two or three.

    Returns
    -------
    dict of tuple of int to ndarray, shape (2^axes,)
        By the axes of the effect: main effects first. The weights sum to zero and are orthogonal to one another.

    Raises
    ------
    ValueError
        Fewer than two axes, or more than three.
    """
    signs = 2.0 * np.array(combinations(axes)) - 1.0
    return {
        chosen: signs[:, chosen].prod(axis=1) / 2.0 ** (axes - order)
        for order in range(1, axes + 1)
        for chosen in itertools.combinations(range(axes), order)
    }


def factorial_effects(
    log_levels: ArrayLike, *, axes: int, ended: EndedBy = EndedBy.PLAN
) -> tuple[FactorialEffect, ...]:
    """Return all effects of a 2^k experiment.

    Parameters
    ----------
    log_levels : array_like, shape (generations, 2^axes)
        Logarithms of the levels, in the order of `combinations`; NaN where a launch failed. A generation that lacks a
        level counts for no effect: contrasts over different generations would not be orthogonal.
    axes : int
        Two or three.
    ended : EndedBy
        What was allowed to decide how many generations there are.

    Returns
    -------
    tuple of FactorialEffect
        In the order of `contrasts`.

    Raises
    ------
    InsufficientData
        Too few complete generations.
    UnusableData
        A level is infinite, or the array has another number of dimensions.
    ValueError
        Fewer than two axes or more than three, or another number of columns.
    """
    levels = finite_or_missing(log_levels, dimensions=2, what="log levels")
    weights = contrasts(axes)
    if levels.shape[1] != 2**axes:
        raise ValueError(f"{axes} axes have {2**axes} combinations; levels of {levels.shape[1]} were given.")
    complete = levels[~np.isnan(levels).any(axis=1)]
    fewest = fewest_launches(ended)
    if len(complete) < fewest:
        raise InsufficientData(f"{len(complete)} generations hold all combinations; effects need {fewest}.")
    return tuple(FactorialEffect(chosen, mean_of(complete @ weight, ended)) for chosen, weight in weights.items())
