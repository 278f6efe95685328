"""Measures of answers to a data set: F1, Matthews' correlation, Pearson's and Spearman's.

Each is NaN where it is not defined, as where all answers are the same.
"""

from collections.abc import Callable

import numpy as np
import scipy
from numpy.typing import ArrayLike, NDArray

from levelfield.statistics.arrays import Floats, InsufficientData, checked_confidence


def f1(truth: ArrayLike, answers: ArrayLike) -> float:
    """Return the harmonic mean of precision and recall of the class 1; 0 where it is neither there nor answered.

    `truth`, `answers`, shape (items,): numbers of classes.
    """
    right, given = np.asarray(truth) == 1, np.asarray(answers) == 1
    together = int(right.sum() + given.sum())
    return 2 * int((right & given).sum()) / together if together else 0.0


def matthews(truth: ArrayLike, answers: ArrayLike) -> float:
    """Return Matthews' correlation of the classes 0 and 1; 0 where one of them is never there or never answered.

    `truth`, `answers`, shape (items,): numbers of classes.

    References
    ----------
    B. W. Matthews (1975). Comparison of the predicted and observed secondary structure of T4 phage lysozyme.
    Biochimica et Biophysica Acta 405, 442–451.
    """
    right, given = np.asarray(truth) == 1, np.asarray(answers) == 1
    if right.all() or not right.any() or given.all() or not given.any():
        return 0.0
    return float(np.corrcoef(right, given)[0, 1])


def pearson(truth: ArrayLike, answers: ArrayLike) -> float:
    """Return Pearson's correlation. `truth`, `answers`, shape (items,): scores."""
    first, second = _floats(truth), _floats(answers)
    if len(first) < 2 or np.ptp(first) == 0 or np.ptp(second) == 0:
        return float("nan")
    return float(np.corrcoef(first, second)[0, 1])


def spearman(truth: ArrayLike, answers: ArrayLike) -> float:
    """Return Spearman's correlation: Pearson's of the ranks, equal values with the mean of theirs.

    `truth`, `answers`, shape (items,): scores.
    """
    return pearson(scipy.stats.rankdata(_floats(truth)), scipy.stats.rankdata(_floats(answers)))


def _floats(values: ArrayLike) -> Floats:
    return np.asarray(values, dtype=np.float64)


DRAWS = 1000
SEED = 20_161_016
"""Fixed: the same record gives the same interval."""


def interval(
    measure: Callable[[NDArray[np.intp]], float], items: int, *, confidence: float = 0.95, draws: int = DRAWS
) -> tuple[float, float]:
    """Return the percentile interval of a measure.

    Where two arms answered the same items, let `measure` return their difference for the same draw: then what the items
    have in common cancels, and the interval is a paired one.

    `measure`: returns the measure of the items of these places, some of them several times; NaN where it is not
    defined, and such draws are left out. `items`: how many there are. `confidence`: of the interval. `draws`: how often
    all items are drawn, with replacement. Raises InsufficientData: there are fewer than two items, the measure is
    defined in less than half of the draws, or it is always the same.

    References
    ----------
    B. Efron, R. J. Tibshirani (1993). An Introduction to the Bootstrap. Chapman & Hall, chapter 13.
    """
    checked_confidence(confidence)
    if items < 2:
        raise InsufficientData(f"{items} items: at least 2 are needed to draw them again.")
    generator = np.random.Generator(np.random.Philox(SEED))
    found = np.array([measure(generator.integers(0, items, items)) for _ in range(draws)])
    defined = found[~np.isnan(found)]
    if 2 * len(defined) < draws:
        raise InsufficientData("The measure is not defined in half of the draws.")
    if np.ptp(defined) == 0:
        raise InsufficientData("All draws give the same: the items say nothing of how others would differ.")
    low, high = np.quantile(defined, [0.5 - confidence / 2, 0.5 + confidence / 2])
    return float(low), float(high)
