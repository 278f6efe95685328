"""The line is SciPy's, to the last bit, and a few odd values do not turn it."""

import numpy as np
import pytest
import scipy

from suite.statistics.theil_sen import line


@pytest.mark.parametrize("size", [2, 3, 10, 41])
def test_it_is_scipys(size: int) -> None:
    for values in (
        np.random.default_rng(size).standard_normal(size),
        np.random.default_rng(size).integers(0, 3, size).astype(np.float64),  # with ties
    ):
        expected = scipy.stats.theilslopes(values, np.arange(size, dtype=np.float64))
        found = line(values)
        assert (found.slope, found.intercept) == (expected.slope, expected.intercept)


def test_a_few_odd_values_do_not_turn_it() -> None:
    rng = np.random.default_rng(1)
    values = 2.0 + 0.5 * np.arange(30.0) + rng.normal(0.0, 0.01, 30)
    values[rng.choice(30, 6, replace=False)] += 100.0
    assert line(values).slope == pytest.approx(0.5, abs=0.01)
