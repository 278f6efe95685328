"""Axes end where most values lie inside, and never before a value that is near."""

from hypothesis import given
from hypothesis import strategies as st

from levelfield.report.reach import ENDS, INSIDE, reach


def test_one_far_value_does_not_flatten_the_others() -> None:
    assert reach([0.03, 0.05, 0.08, 0.09, 33.6]) == 0.1


def test_a_value_a_little_farther_is_not_cut() -> None:
    assert reach([0.03, 0.05, 0.08, 0.13]) == 0.13


def test_no_difference_at_all_has_an_axis() -> None:
    assert reach([]) == reach([0.0, 0.0]) == ENDS[0]


@given(st.lists(st.floats(min_value=1e-6, max_value=40.0), min_size=1, max_size=60))
def test_most_values_lie_inside(values: list[float]) -> None:
    end = reach(values)
    assert sum(value <= end for value in values) >= int(INSIDE * len(values))
    assert end <= max(*values, ENDS[0]) * 10
