import math

import numpy as np
import pytest
import scipy

from levelfield.statistics.proportions import proportion
from levelfield.statistics.ratios import ratio_interval
from levelfield.statistics.verdicts import Verdict, benjamini_hochberg, holm_levels, verdict_of
from tests.statistics.rates import check_rate


@pytest.mark.parametrize(
    ("low", "high", "verdict"),
    [
        (0.99, 1.01, Verdict.SAME),
        (1.005, 1.015, Verdict.SAME),  # a difference, but one that does not matter
        (1.005, 1.03, Verdict.SLOWER),
        (0.95, 0.99, Verdict.FASTER),
        (0.97, 1.01, Verdict.UNDECIDED),
        (1.0, 1.03, Verdict.UNDECIDED),  # 1 is not excluded
        (1.02**-1, 1.02, Verdict.SAME),
    ],
)
def test_verdicts(low: float, high: float, verdict: Verdict) -> None:
    assert verdict_of(low, high, margin=0.02) is verdict


MIRRORED = {
    Verdict.SAME: Verdict.SAME, Verdict.FASTER: Verdict.SLOWER, Verdict.SLOWER: Verdict.FASTER,
    Verdict.UNDECIDED: Verdict.UNDECIDED,
}  # fmt: skip


def test_exchanging_the_arms_mirrors_the_verdict() -> None:
    rng = np.random.default_rng(0)
    for low, width in zip(rng.uniform(0.93, 1.05, 300), rng.uniform(0, 0.06, 300), strict=True):
        assert verdict_of(1 / (low + width), 1 / low) is MIRRORED[verdict_of(low, low + width)]


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
        (1.05, 1.2, Verdict.UNDECIDED),
        (1.11, 1.2, Verdict.SLOWER),
        (0.8, 0.9, Verdict.FASTER),
        (0.8, 0.95, Verdict.UNDECIDED),
    ],
)
def test_a_change_may_have_to_exclude_the_margin(low: float, high: float, verdict: Verdict) -> None:
    assert verdict_of(low, high, margin=0.1, change_beyond_margin=True) is verdict


def test_among_identical_arms_at_most_one_grid_in_a_hundred_reports_anything() -> None:
    p = np.random.default_rng(0).uniform(size=(3000, 40))
    alarms = np.mean([any(benjamini_hochberg(row).found) for row in p])
    assert alarms <= 0.01 + 2 * math.sqrt(0.01 * 0.99 / 3000)


def test_the_share_of_false_ones_among_the_found_is_at_most_q() -> None:
    rng = np.random.default_rng(1)
    shares = []
    for _ in range(1500):
        p = rng.uniform(size=40)
        p[:10] **= 12  # real changes
        found = np.array(benjamini_hochberg(p, q=0.1).found)
        shares.append(found[10:].sum() / max(found.sum(), 1))
    assert np.mean(shares) <= 0.1


def test_holm_rejects_step_by_step() -> None:
    p_values = np.array([[0.04, 0.001, 0.2, 0.003], [0.9, 0.9, 0.9, 0.9], [0.001, 0.002, 0.003, 0.004]])
    levels = holm_levels(p_values, 0.01)
    assert (p_values <= levels).tolist() == [[False, True, False, True], [False] * 4, [True] * 4]
    assert levels[0].tolist() == pytest.approx([0.005, 0.01 / 3, 0.005, 0.01 / 3])
    assert levels[1].tolist() == pytest.approx([0.0025] * 4)


def test_holm_keeps_the_level_whatever_cases_have_in_common() -> None:
    rng = np.random.default_rng(5)
    for shared in (0.0, 0.9):
        noise = shared**0.5 * rng.standard_normal((4000, 1)) + (1 - shared) ** 0.5 * rng.standard_normal((4000, 20))
        noise[:, :5] += 9.0  # truly different: they must not loosen the level of the others
        p_values = scipy.special.ndtr(-noise)
        wrong = int((p_values <= holm_levels(p_values, 0.05))[:, 5:].any(axis=1).sum())
        assert proportion(wrong, 4000, confidence=0.999).low <= 0.05
        assert wrong > 0
