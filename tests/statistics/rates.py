"""Whether a simulated rate is what a rule says: neither too high nor too low, by a test that can see both."""

from scipy.stats import binom

UNLUCKY = 0.001
"""Share of tests of a right rate that fail, on either side."""
FACTOR, POWER = 3, 0.8
"""A rate so many times as high, or as low, is to be noticed with this probability."""


def check_rate(found: int, trials: int, least: float, most: float | None = None) -> None:
    """Assert that `found` of `trials` could come of a rate from `least` to `most`.

    A right rule fails with a probability of `UNLUCKY` on either side. Trials that are too few to notice a wrong one are
    refused: such a test could not fail.

    Parameters
    ----------
    found, trials
        Of the simulation; trials are independent.
    least, most
        Bounds of the true rate; one of them where it is known.
    """
    most = least if most is None else most
    fewest, highest = binom.ppf(UNLUCKY, trials, least), binom.isf(UNLUCKY, trials, most)
    assert binom.sf(highest, trials, FACTOR * most) > POWER, f"{trials} trials would not notice a higher rate"
    assert binom.cdf(fewest - 1, trials, least / FACTOR) > POWER, f"{trials} trials would not notice a lower rate"
    assert fewest <= found <= highest, f"{found} of {trials}, where {fewest:.0f} to {highest:.0f} are expected"
