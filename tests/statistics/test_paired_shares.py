import numpy as np
import pytest
from scipy.stats import binomtest

from suite.statistics.paired_shares import compare


@pytest.mark.parametrize(("lost", "gained"), [(0, 0), (6, 1), (3, 3), (0, 12)])
def test_the_p_value_is_that_of_the_exact_test(lost: int, gained: int) -> None:
    found = compare(lost, gained, 200)
    expected = binomtest(lost, lost + gained).pvalue if lost + gained else 1.0
    assert found.p == pytest.approx(expected)
    assert found.low <= found.difference <= found.high
    assert found.difference == (gained - lost) / 200


def test_nothing_changed_is_not_certainty() -> None:
    found = compare(0, 0, 50)
    assert found.difference == 0
    assert found.low < 0 < found.high


@pytest.mark.parametrize(("lose", "gain", "items"), [(0.05, 0.02, 100), (0.01, 0.01, 500), (0.2, 0.1, 40)])
def test_the_interval_covers_the_true_difference(lose: float, gain: float, items: int) -> None:
    rng = np.random.default_rng(1)
    drawn = rng.multinomial(items, [lose, gain, 1 - lose - gain], 2000)
    found = [compare(int(lost), int(gained), items) for lost, gained, _ in drawn]
    covered = np.mean([each.low <= gain - lose <= each.high for each in found])
    assert 0.93 <= covered <= 0.99


@pytest.mark.parametrize(("lost", "gained", "items"), [(1, 0, 0), (-1, 0, 5), (3, 3, 5)])
def test_what_is_no_comparison_is_refused(lost: int, gained: int, items: int) -> None:
    with pytest.raises(ValueError, match="no comparison"):
        compare(lost, gained, items)
