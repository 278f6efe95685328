"""What is missing is left out, without a warning, and what no measurement gives is refused."""

import numpy as np
import pytest

from levelfield.statistics.arrays import InsufficientData, UnusableData, logs_of, median_of_present, positive_times


def test_where_nothing_is_missing_medians_are_the_same_bits() -> None:
    rng = np.random.default_rng(1)
    for shape in [(5, 2, 8), (5, 7, 3), (1, 1, 1), (4, 6, 1)]:
        values = rng.normal(size=shape)
        for axis in range(3):
            np.testing.assert_array_equal(median_of_present(values, axis=axis), np.nanmedian(values, axis=axis))


def test_times_are_positive_and_there_are_some() -> None:
    with pytest.raises(UnusableData, match=r"number 1 is 0\.0"):
        positive_times([1.0, 0.0], what="calls")
    with pytest.raises(InsufficientData, match="0 calls"):
        positive_times([], what="calls")


def test_logs_are_of_costs_above_zero() -> None:
    assert logs_of([1.0, np.nan, np.e], "boots").tolist() == pytest.approx([0, 1])
    for bad in (0.0, -1.0, np.inf):
        with pytest.raises(UnusableData, match="boots hold an infinite value"):
            logs_of([1.0, bad], "boots")
