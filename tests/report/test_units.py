"""Numbers as people read them."""

import doctest
from collections.abc import Callable
from types import ModuleType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from levelfield.analysis.types import Estimate
from levelfield.report import tables, units
from tests.report.plain import plain


@pytest.mark.parametrize("module", [tables, units])
def test_examples_in_docstrings_hold(module: ModuleType) -> None:
    assert doctest.testmod(module).failed == 0


@pytest.mark.parametrize(
    ("write", "value", "text"),
    [
        (units.time, 9_210, "9.21 µs"),
        (units.time, 999_600, "1 000 µs"),
        (units.time, 0.4, "0.400 ns"),
        (units.time, None, units.NO_VALUE),
        (units.size, 1023, "1 023 B"),
        (units.size, 1.21 * 2**30, "1.21 GiB"),
        (units.rate, 7_420, "7 420"),
        (units.rate, 33_400, "33.4 k"),
        (units.rate, 0.5, "0.500"),
        (units.time_with_interval, Estimate(21.3e6, 20.9e6, 21.8e6), "21.3 ms (20.9–21.8)"),
        (units.time_with_interval, Estimate(997e6, 969e6, 1031e6), "997 ms (969–1 031)"),
        (units.time_with_interval, Estimate(21.3412e6, 21.3398e6, 21.3431e6), "21.341 ms (21.340–21.343)"),
        (units.time_with_interval, Estimate(21.3e6), "21.3 ms"),
        (units.percent, 0.014, "1.4 %"),
        (units.percent, 0.0996, "10 %"),
        (units.percent, -0.012, "−1.2 %"),
        (units.slower, Estimate(1.014, 1.0, 1.03), "1.4 % (0–3.0 %)"),
        (units.slower, Estimate(1.014, 1.0003, 1.03), "1.4 % (0.03–3.0 %)"),
        (units.slower, Estimate(1.5), "50 %"),
        (units.slower, Estimate(1.004, 0.997, 1.011), "0.4 % (−0.3 to 1.1 %)"),
        (units.error, 4.6e-7, "4.6×10⁻⁷"),
        (units.error, 12.0, "1.2×10¹"),
        (units.duration, 0, "0 s"),
        (units.duration, 59.6, "1 min"),
        (units.duration, 3661, "1 h 1 min 1 s"),
        (units.roughly, 40, "40 s"),
        (units.roughly, 3 * 86_400, "3 days"),
        (units.times, Estimate(1.874, 1.8, 1.94), "1.87× (1.80–1.94)"),
        (units.times, Estimate(0.00234), "0.0023×"),
        (units.share_with_interval, Estimate(0.91, 0.88, 0.94), "91 % (88–94 %)"),
    ],
)
def test_a_value_is_written_with_its_unit(write: Callable[[Any], str], value: Any, text: str) -> None:
    assert plain(write(value)) == text


@given(st.floats(min_value=1e-12, max_value=1e15))
def test_digits_never_lie_by_more_than_half_a_unit_of_the_third_digit(value: float) -> None:
    assert abs(float(units.digits(value).replace(units.GROUP_SPACE, "")) - value) <= 0.00501 * value
    assert "e" not in units.digits(value)


@pytest.mark.parametrize(
    ("ratio", "value", "bounds"),
    [
        (Estimate(1.15, 1.12, 1.18), "+15 %", "12–18 %"),
        (Estimate(2.5), "+150 %", ""),
        (Estimate(34.56, 28.5, 41.8), "34.6×", "28.5–41.8×"),
    ],
)
def test_a_distance_to_the_best_is_a_multiple_where_percents_would_be_many(
    ratio: Estimate, value: str, bounds: str
) -> None:
    assert tuple(map(plain, units.behind(ratio))) == (value, bounds)
