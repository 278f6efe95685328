import numpy as np
import pytest
import scipy

from levelfield.statistics.welch import standard_error


def test_it_is_that_of_scipy() -> None:
    rng = np.random.default_rng(1)
    first, second = rng.standard_normal(5), 3 * rng.standard_normal(8)
    error, freedom = standard_error(first.var(ddof=1) / 5, 4, second.var(ddof=1) / 8, 7)
    known = scipy.stats.ttest_ind(first, second, equal_var=False)
    assert (first.mean() - second.mean()) / error == pytest.approx(known.statistic)
    assert float(freedom) == pytest.approx(known.df)


def test_where_nothing_varies_all_degrees_of_freedom_count() -> None:
    error, freedom = standard_error(np.array([0.0, 1.0]), 2, np.array([0.0, 1.0]), 4)
    assert error.tolist() == pytest.approx([0, 2**0.5])
    assert freedom.tolist() == pytest.approx([6, 4 / (1 / 2 + 1 / 4)])
