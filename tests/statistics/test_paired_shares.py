import pytest
from scipy.stats import binomtest, multinomial

from levelfield.statistics.paired_shares import compare


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


@pytest.mark.parametrize(
    ("lose", "gain", "items", "covers"), [(0.05, 0.02, 100, 0.972), (0.01, 0.01, 500, 0.976), (0.2, 0.1, 40, 0.959)]
)
def test_the_interval_covers_the_true_difference(lose: float, gain: float, items: int, covers: float) -> None:
    """Its exact coverage: the probability of all counts whose interval holds the truth."""
    covered = total = 0.0
    for lost in range(41):
        for gained in range(min(40, items - lost) + 1):
            chance = float(multinomial.pmf([lost, gained, items - lost - gained], items, [lose, gain, 1 - lose - gain]))
            found = compare(lost, gained, items)
            total += chance
            covered += chance * (found.low <= gain - lose <= found.high)
    assert total == pytest.approx(1, abs=1e-6)
    assert covered == pytest.approx(covers, abs=0.002)


@pytest.mark.parametrize(("lost", "gained", "items"), [(1, 0, 0), (-1, 0, 5), (3, 3, 5)])
def test_what_is_no_comparison_is_refused(lost: int, gained: int, items: int) -> None:
    with pytest.raises(ValueError, match="no comparison"):
        compare(lost, gained, items)
