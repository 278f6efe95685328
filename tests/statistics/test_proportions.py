import pytest
from scipy.stats import binom

from levelfield.statistics.proportions import proportion


def test_the_interval_is_the_exact_one() -> None:
    found = proportion(3, 40)
    assert binom.sf(2, 40, found.low) == pytest.approx(0.025)
    assert binom.cdf(3, 40, found.high) == pytest.approx(0.025)


def test_none_of_a_hundred_is_the_rule_of_three() -> None:
    found = proportion(0, 100, confidence=0.90)
    assert found.low == 0
    assert found.high == pytest.approx(3 / 100, abs=0.001)


@pytest.mark.parametrize("trials", [20, 100])
@pytest.mark.parametrize("truth", [0.01, 0.05, 0.5])
def test_it_covers_at_least_what_it_says(trials: int, truth: float) -> None:
    covered = sum(
        binom.pmf(k, trials, truth)
        for k in range(trials + 1)
        if proportion(k, trials).low <= truth <= proportion(k, trials).high
    )
    assert covered >= 0.95


@pytest.mark.parametrize(("k", "n"), [(1, 0), (0, 0), (-1, 5), (6, 5)])
def test_what_is_no_share_is_refused(k: int, n: int) -> None:
    with pytest.raises(ValueError, match="not a share"):
        proportion(k, n)
