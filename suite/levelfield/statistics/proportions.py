"""Exact intervals of a share, *k of N*."""

import math

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

    `successes`, `trials`: how many of how many. `confidence`: the interval covers the true share at least as often.
    Raises ValueError: no trials, or more successes than trials.

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


class PairedShares(msgspec.Struct, frozen=True):
    """Difference of two shares of the same items."""

    difference: float
    """Second less first."""
    low: float
    high: float
    p: float
    """Exact, two-sided: as likely to be lost as to be gained."""
    lost: int
    gained: int


def compare(lost: int, gained: int, items: int) -> PairedShares:
    """Return the difference of two shares of the same items, with its 95 % interval and McNemar's exact p value.

    The interval is the adjusted Wald interval of Bonett and Price: one item is added to those that were lost and to
    those that were gained. It covers well from some twenty items on, also where few items differ.

    `lost`, `gained`: items that are right in the first answers alone, and in the second alone. `items`: all of them.
    Raises ValueError: no items, or more were lost and gained than there are.

    References
    ----------
    D. G. Bonett, R. M. Price (2012). Adjusted Wald confidence interval for a difference of binomial proportions based
    on paired data. Journal of Educational and Behavioral Statistics 37, 479–488.

    Q. McNemar (1947). Note on the sampling error of the difference between correlated proportions or percentages.
    Psychometrika 12, 153–157.

    Examples
    --------
    >>> found = compare(6, 1, 100)
    >>> round(found.difference, 3), round(found.p, 3)
    (-0.05, 0.125)
    """
    if items < 1 or lost < 0 or gained < 0 or lost + gained > items:
        raise ValueError(f"{lost} lost and {gained} gained of {items} is no comparison of shares.")
    adjusted_lost, adjusted_gained = (lost + 1) / (items + 2), (gained + 1) / (items + 2)
    middle = adjusted_gained - adjusted_lost
    error = math.sqrt((adjusted_lost + adjusted_gained - middle**2) / (items + 2))
    half = float(scipy.special.ndtri(0.975)) * error
    smaller, changed = min(lost, gained), lost + gained
    p = min(1.0, 2 * float(scipy.special.bdtr(smaller, changed, 0.5))) if changed else 1.0
    return PairedShares(
        difference=(gained - lost) / items,
        low=max(-1.0, middle - half),
        high=min(1.0, middle + half),
        p=p,
        lost=lost,
        gained=gained,
    )
