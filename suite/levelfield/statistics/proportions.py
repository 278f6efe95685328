"""Exact intervals of a share, *k of N*."""

import msgspec
import scipy

from levelfield.statistics.arrays import checked_confidence


class Proportion(msgspec.Struct, frozen=True):
    """A share with its exact interval."""

    successes: int
    trials: int
    share: float
    low: float
    high: float
    confidence: float


def proportion(successes: int, trials: int, *, confidence: float = 0.95) -> Proportion:
    """Return the share of `successes` among independent `trials` with its exact (Clopper–Pearson) interval.

    Trials that share machine time or launches are not independent: count them once.

    Parameters
    ----------
    successes, trials : int
        How many of how many.
    confidence : float
        The interval covers the true share at least as often.

    Raises
    ------
    ValueError
        No trials, or more successes than trials.

    References
    ----------
    C. J. Clopper, E. S. Pearson (1934). The use of confidence or fiducial limits illustrated in the case of the
    binomial. Biometrika 26, 404–413.

    Examples
    --------
    >>> found = proportion(1, 63)
    >>> round(found.low, 4), round(found.high, 4)
    (0.0004, 0.0853)
    """
    checked_confidence(confidence)
    if trials < 1 or not 0 <= successes <= trials:
        raise ValueError(f"{successes} of {trials} is not a share of anything.")
    interval = scipy.stats.binomtest(successes, trials).proportion_ci(confidence_level=confidence, method="exact")
    return Proportion(
        successes=successes,
        trials=trials,
        share=successes / trials,
        low=float(interval.low),
        high=float(interval.high),
        confidence=confidence,
    )
