import pytest
from scipy.stats import binom, binomtest, multinomial

from levelfield.statistics.proportions import compare, proportion


def test_the_interval_is_the_exact_one() -> None:
    found = proportion(3, 40)
    assert binom.sf(2, 40, found.low) == pytest.approx(0.025)
    assert binom.cdf(3, 40, found.high) == pytest.approx(0.025)


@pytest.mark.parametrize("trials", [20, 100])
@pytest.mark.parametrize("truth", [0.01, 0.05, 0.5])
def test_it_covers_at_least_what_it_says(trials: int, truth: float) -> None:
    covered = sum(
        binom.pmf(k, trials, truth)
        for k in range(trials + 1)
        if proportion(k, trials).low <= truth <= proportion(k, trials).high
    )
    assert covered >= 0.95


@pytest.mark.parametrize(("lost", "gained"), [(0, 0), (6, 1), (3, 3), (0, 12)])
def test_the_p_value_is_that_of_the_exact_test(lost: int, gained: int) -> None:
    found = compare(lost, gained, 200)
    assert found.p == pytest.approx(binomtest(lost, lost + gained).pvalue if lost + gained else 1.0)
    assert found.low <= found.difference <= found.high
    assert found.difference == (gained - lost) / 200


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
