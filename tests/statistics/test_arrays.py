"""What is missing is left out, without a warning, and what no measurement gives is refused."""

import warnings

import numpy as np
import pytest

from levelfield.statistics.arrays import (
    InsufficientData,
    UnusableData,
    checked_confidence,
    finite_or_missing,
    logs_of,
    median_of_present,
    positive_times,
    without_missing,
)


def test_medians_are_of_what_is_present() -> None:
    values = np.array([[1.0, np.nan, 3.0], [np.nan, np.nan, np.nan]])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        np.testing.assert_array_equal(median_of_present(values, axis=1), [2.0, np.nan])
    assert median_of_present(values, axis=1, keepdims=True).shape == (2, 1)
    np.testing.assert_array_equal(without_missing(values[0]), [1.0, 3.0])


def test_where_nothing_is_missing_medians_are_the_same_bits() -> None:
    rng = np.random.default_rng(1)
    for shape in [(5, 2, 8), (5, 7, 3), (1, 1, 1), (4, 6, 1)]:
        values = rng.normal(size=shape)
        for axis in range(3):
            np.testing.assert_array_equal(median_of_present(values, axis=axis), np.nanmedian(values, axis=axis))


def test_infinite_values_and_wrong_shapes_are_refused() -> None:
    assert np.isnan(finite_or_missing([1.0, np.nan], dimensions=1, what="levels")[1])
    with pytest.raises(UnusableData, match="levels hold an infinite value"):
        finite_or_missing([np.inf], dimensions=1, what="levels")
    with pytest.raises(UnusableData, match="must have 2 dimensions, not 1"):
        finite_or_missing([1.0], dimensions=2, what="levels")


def test_times_are_positive_and_there_are_some() -> None:
    with pytest.raises(UnusableData, match=r"number 1 is 0\.0"):
        positive_times([1.0, 0.0], what="calls")
    with pytest.raises(InsufficientData, match="0 calls"):
        positive_times([], what="calls")


def test_a_confidence_is_no_percentage() -> None:
    with pytest.raises(ValueError, match="between 0 and 1"):
        checked_confidence(95)


def test_logs_are_of_costs_above_zero() -> None:
    assert logs_of([1.0, np.nan, np.e], "boots").tolist() == pytest.approx([0, 1])
    for bad in (0.0, -1.0, np.inf):
        with pytest.raises(UnusableData, match="boots hold an infinite value"):
            logs_of([1.0, bad], "boots")
