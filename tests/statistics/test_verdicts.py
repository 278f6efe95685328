import math

import numpy as np
import pytest

from levelfield.statistics.ratios import ratio_interval
from levelfield.statistics.verdicts import Verdict, verdict_of
from tests.statistics.rates import check_rate


@pytest.mark.parametrize(
    ("low", "high", "verdict"),
    [
        (0.99, 1.01, Verdict.SAME),
        (1.0, 1.0, Verdict.SAME),
        (1.005, 1.015, Verdict.SAME),  # a difference, but one that does not matter
        (1.005, 1.03, Verdict.SLOWER),
        (1.3, 1.4, Verdict.SLOWER),
        (0.95, 0.99, Verdict.FASTER),
        (0.985, 0.995, Verdict.SAME),
        (0.97, 1.01, Verdict.INCONCLUSIVE),
        (0.99, 1.03, Verdict.INCONCLUSIVE),
        (1.0, 1.03, Verdict.INCONCLUSIVE),  # 1 is not excluded
        (1.02**-1, 1.02, Verdict.SAME),
        (0.5, math.inf, Verdict.INCONCLUSIVE),
    ],
)
def test_verdicts(low: float, high: float, verdict: Verdict) -> None:
    assert verdict_of(low, high, margin=0.02) is verdict


MIRRORED = {
    Verdict.SAME: Verdict.SAME,
    Verdict.FASTER: Verdict.SLOWER,
    Verdict.SLOWER: Verdict.FASTER,
    Verdict.INCONCLUSIVE: Verdict.INCONCLUSIVE,
}


def test_exchanging_the_arms_mirrors_the_verdict() -> None:
    rng = np.random.default_rng(0)
    for low, width in zip(rng.uniform(0.93, 1.05, 300), rng.uniform(0, 0.06, 300), strict=True):
        assert verdict_of(1 / (low + width), 1 / low) is MIRRORED[verdict_of(low, low + width)]


@pytest.mark.parametrize(("low", "high"), [(1.1, 1.0), (0.0, 1.0), (-1.0, 1.0), (math.nan, 1.0), (1.0, math.nan)])
def test_what_is_no_interval_is_refused(low: float, high: float) -> None:
    with pytest.raises(ValueError, match="not an interval"):
        verdict_of(low, high)


@pytest.mark.parametrize("margin", [0, -0.02, 2, math.nan])
def test_what_is_no_margin_is_refused(margin: float) -> None:
    with pytest.raises(ValueError, match="margin"):
        verdict_of(0.9, 1.1, margin=margin)


def test_same_is_wrongly_said_of_a_difference_at_the_margin_as_often_as_a_bound_misses() -> None:
    rng = np.random.default_rng(9)
    values = math.log(1.02) + 1e-9 + 0.004 * rng.standard_normal((4000, 5))
    wrong = 0
    for row in values:
        found = ratio_interval(row, np.zeros(5))
        wrong += verdict_of(found.low, found.high) is Verdict.SAME
    check_rate(wrong, 4000, 0.025)


@pytest.mark.parametrize(
    ("low", "high", "verdict"),
    [
        (0.95, 1.05, Verdict.SAME),
        (1.05, 1.2, Verdict.INCONCLUSIVE),
        (1.11, 1.2, Verdict.SLOWER),
        (0.8, 0.9, Verdict.FASTER),
        (0.8, 0.95, Verdict.INCONCLUSIVE),
    ],
)
def test_a_change_may_have_to_exclude_the_margin(low: float, high: float, verdict: Verdict) -> None:
    assert verdict_of(low, high, margin=0.1, change_beyond_margin=True) is verdict
