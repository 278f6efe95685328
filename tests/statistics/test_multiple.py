import math

import numpy as np
import pytest
import scipy

from levelfield.statistics.multiple import benjamini_hochberg, holm_levels
from levelfield.statistics.proportions import proportion


def test_the_example_of_benjamini_and_hochberg() -> None:
    p = [
        0.0001,
        0.0004,
        0.0019,
        0.0095,
        0.0201,
        0.0278,
        0.0298,
        0.0344,
        0.0459,
        0.3240,
        0.4262,
        0.5719,
        0.6528,
        0.7590,
        1,
    ]
    assert sum(benjamini_hochberg(p, q=0.05).found) == 4


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


def test_adjusted_p_values_are_those_of_benjamini_and_hochberg() -> None:
    result = benjamini_hochberg([0.004, 0.9])
    assert result.found == (True, False)
    assert result.adjusted == pytest.approx((2 * 0.004, 0.9))


def test_an_empty_grid_finds_nothing() -> None:
    result = benjamini_hochberg([])
    assert (result.found, result.adjusted) == ((), ())


@pytest.mark.parametrize("bad", [[1.5], [-0.1], [math.inf], [math.nan]])
def test_what_is_no_p_value_is_refused(bad: list[float]) -> None:
    with pytest.raises(ValueError, match="between 0 and 1"):
        benjamini_hochberg(bad)


@pytest.mark.parametrize("q", [0, 1, 5])
def test_what_is_no_rate_is_refused(q: float) -> None:
    with pytest.raises(ValueError, match="false discovery rate"):
        benjamini_hochberg([0.1], q=q)


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
