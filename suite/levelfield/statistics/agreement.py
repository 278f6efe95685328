"""Measures of answers to a data set: F1, Matthews' correlation, Pearson's and Spearman's.

Each is NaN where it is not defined, as where all answers are the same.
"""

import numpy as np
import scipy
from numpy.typing import ArrayLike

from levelfield.statistics.arrays import Floats


def f1(truth: ArrayLike, answers: ArrayLike) -> float:
    """Return the harmonic mean of precision and recall of the class 1; 0 where it is neither there nor answered.

    Parameters
    ----------
    truth, answers : array_like, shape (items,)
        Numbers of classes.
    """
    right, given = np.asarray(truth) == 1, np.asarray(answers) == 1
    together = int(right.sum() + given.sum())
    return 2 * int((right & given).sum()) / together if together else 0.0


def matthews(truth: ArrayLike, answers: ArrayLike) -> float:
    """Return Matthews' correlation of the classes 0 and 1; 0 where one of them is never there or never answered.

    Parameters
    ----------
    truth, answers : array_like, shape (items,)
        Numbers of classes.

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
    """Return Pearson's correlation.

    Parameters
    ----------
    truth, answers : array_like, shape (items,)
        Scores.
    """
    first, second = _floats(truth), _floats(answers)
    if len(first) < 2 or np.ptp(first) == 0 or np.ptp(second) == 0:
        return float("nan")
    return float(np.corrcoef(first, second)[0, 1])


def spearman(truth: ArrayLike, answers: ArrayLike) -> float:
    """Return Spearman's correlation: Pearson's of the ranks, equal values with the mean of theirs.

    Parameters
    ----------
    truth, answers : array_like, shape (items,)
        Scores.
    """
    return pearson(scipy.stats.rankdata(_floats(truth)), scipy.stats.rankdata(_floats(answers)))


def _floats(values: ArrayLike) -> Floats:
    return np.asarray(values, dtype=np.float64)
