"""From replicates to an effect: intervals and p values as scipy has them, and what is refused."""

import math

import numpy as np
import pytest
from scipy.stats import ttest_ind

from levelfield.compare.effects import from_pairs, from_runs
from levelfield.statistics.arrays import InsufficientData, UnusableData
from levelfield.statistics.ratios import ratio_interval
from levelfield.statistics.student import EndedBy


def test_welch_agrees_with_scipy() -> None:
    rng = np.random.default_rng(1)
    for sizes in ((3, 3), (3, 9), (5, 4)):
        old, new = np.exp(rng.normal(0, 0.1, sizes[0])), np.exp(rng.normal(0.1, 0.02, sizes[1]))
        found = from_runs(old, new)
        expected = ttest_ind(np.log(new), np.log(old), equal_var=False)
        assert found.p_value == pytest.approx(expected.pvalue)
        interval = expected.confidence_interval(0.99)
        assert found.log_ratio + found.half_width(0.99) == pytest.approx(interval.high)
        assert found.freedom == pytest.approx(expected.df)
        assert found.tail(0.0) == pytest.approx(
            ttest_ind(np.log(new), np.log(old), equal_var=False, alternative="less").pvalue
        )


def test_two_runs_a_side_are_refused() -> None:
    with pytest.raises(InsufficientData, match="2 and 5 runs"):
        from_runs([1, 2], [1, 2, 3, 4, 5])


@pytest.mark.parametrize("bad", [0.0, math.inf])
def test_no_cost_is_zero_or_infinite(bad: float) -> None:
    with pytest.raises(UnusableData):
        from_runs([1, 2, bad], [1, 2, 3])


def test_pairs_give_the_same_interval_as_the_ratio_they_come_from() -> None:
    rng = np.random.default_rng(2)
    interval = ratio_interval(
        rng.normal(0.05, 0.01, 9), rng.normal(0, 0.01, 9), confidence=0.95, ended=EndedBy.PRECISION
    )
    found = from_pairs(interval.mean)
    assert found.log_ratio + found.half_width(0.95) == pytest.approx(math.log(interval.high))
    assert found.p_value == pytest.approx(interval.mean.p_value)
