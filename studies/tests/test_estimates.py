"""Means over launches, against figures worked out by hand."""

import math

import pytest

from studies.estimates import geometric_mean, mean


def test_the_interval_is_students_t() -> None:
    found = mean([1.0, 2.0, 3.0])
    assert found.value == 2.0
    assert found.high is not None
    assert found.high - 2.0 == pytest.approx(4.30265 / math.sqrt(3), rel=1e-5)  # t of two degrees of freedom, sd 1


def test_ratios_are_averaged_on_the_log_scale() -> None:
    found = geometric_mean([0.5, 2.0])
    assert found.value == pytest.approx(1.0)
    assert found.low is not None
    assert found.high is not None
    assert found.low * found.high == pytest.approx(1.0)


def test_one_launch_has_no_interval() -> None:
    assert mean([3.0]).low is None
    assert mean([3000.0]).written("µs", per=1e3) == "3.00 µs"
    assert geometric_mean([1.0, 1.0]).written(digits=1) == "1.0 (1.0 to 1.0)"
