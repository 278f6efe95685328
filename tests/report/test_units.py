"""None"""

import doctest

import pytest
from hypothesis import given
from hypothesis import strategies as st

from levelfield.analysis.types import Estimate
from levelfield.report import units
from tests.report.plain import plain

NBSP, GROUP = units.NBSP, units.GROUP_SPACE


def test_examples_in_docstrings_hold() -> None:
    assert doctest.testmod(units).failed == 0


@pytest.mark.parametrize(
    ("value_ns", "text"),
    [
        (950, "950 ns"),
        (9_210, "9.21 µs"),
        (21_345_000, "21.3 ms"),
        (999_600, "1000 µs"),
        (1.871e9, "1.87 s"),
        (0.4, "0.400 ns"),
        (None, units.NO_VALUE),
    ],
)
def test_times(value_ns: float | None, text: str) -> None:
    assert units.time(value_ns).replace(NBSP, " ").replace(GROUP, "") == text


@pytest.mark.parametrize(
    ("value", "text"),
    [(0, "0 B"), (1023, "1023 B"), (1.21 * 2**30, "1.21 GiB"), (300 * 2**20, "300 MiB"), (None, units.NO_VALUE)],
)
def test_sizes(value: float | None, text: str) -> None:
    assert units.size(value).replace(NBSP, " ").replace(GROUP, "") == text


@pytest.mark.parametrize(
    ("value", "text"), [(46.53, "46.5"), (7_420, "7420"), (33_400, "33.4 k"), (4.99e6, "4.99 M"), (0.5, "0.500")]
)
def test_rates(value: float, text: str) -> None:
    assert units.rate(value).replace(NBSP, " ").replace(GROUP, "") == text


@pytest.mark.parametrize(
    ("estimate", "text"),
    [
        (Estimate(21.3e6, 20.9e6, 21.8e6), "21.3 ms (20.9–21.8)"),
        (Estimate(1.0e9, 0.972e9, 1.04e9), "1.00 s (0.97–1.04)"),
        (Estimate(997e6, 969e6, 1031e6), "997 ms (969–1031)"),
        (Estimate(21.3412e6, 21.3398e6, 21.3431e6), "21.341 ms (21.340–21.343)"),
        (Estimate(21.3e6), "21.3 ms"),
        (None, units.NO_VALUE),
    ],
)
def test_a_value_and_its_bounds_share_unit_and_decimals(estimate: Estimate | None, text: str) -> None:
    assert units.time_with_interval(estimate).replace(NBSP, " ").replace(GROUP, "") == text


@pytest.mark.parametrize(
    ("share", "text"),
    [(0.014, "1.4 %"), (0.0, "0.0 %"), (0.221, "22 %"), (0.0996, "10 %"), (9.26, "926 %"), (-0.012, "−1.2 %")],
)
def test_percents(share: float, text: str) -> None:
    assert units.percent(share).replace(NBSP, " ") == text


def test_a_signed_percent_shows_its_sign() -> None:
    assert units.percent(0.05, signed=True) == f"+5.0{NBSP}%"


def test_how_much_slower() -> None:
    assert units.slower(Estimate(1.014, 1.009, 1.02)).replace(NBSP, " ") == "1.4 % (0.9–2.0 %)"
    assert units.slower(Estimate(1.014)).replace(NBSP, " ") == "1.4 %"
    assert units.slower(Estimate(1.014, 1.0, 1.03)).replace(NBSP, " ") == "1.4 % (0–3.0 %)"
    assert units.slower(Estimate(1.014, 1.0003, 1.03)).replace(NBSP, " ") == "1.4 % (0.03–3.0 %)"


def test_a_range_around_zero_is_written_with_to() -> None:
    assert units.percent_range(-0.003, 0.011).replace(NBSP, " ") == "−0.3 to 1.1 %"


@pytest.mark.parametrize(("value", "text"), [(4.6e-7, "4.6×10⁻⁷"), (0.046, "4.6×10⁻²"), (0, "0"), (12.0, "1.2×10¹")])
def test_errors(value: float, text: str) -> None:
    assert units.error(value) == text


@pytest.mark.parametrize(
    ("seconds", "text"), [(0, "0 s"), (59.6, "1 min"), (552, "9 min 12 s"), (3600, "1 h"), (3661, "1 h 1 min 1 s")]
)
def test_durations(seconds: float, text: str) -> None:
    assert units.duration(seconds) == text


@pytest.mark.parametrize(("number", "text"), [(0, "0 launches"), (1, "1 launch"), (27_421, f"27{GROUP}421 launches")])
def test_plurals(number: int, text: str) -> None:
    assert units.plural(number, "launch", "launches") == text


@given(st.floats(min_value=1e-12, max_value=1e15))
def test_digits_never_lie_by_more_than_half_a_unit_of_the_third_digit(value: float) -> None:
    written = float(units.digits(value).replace(GROUP, ""))
    assert abs(written - value) <= 0.00501 * value
    assert "e" not in units.digits(value)


@pytest.mark.parametrize(
    ("estimate", "text"),
    [
        (Estimate(1.874, 1.8, 1.94), "1.87× (1.80–1.94)"),
        (Estimate(1.0), "1.00×"),
        (Estimate(0.00234), "0.0023×"),
        (None, units.NO_VALUE),
    ],
)
def test_times_are_reported_to_two_digits_at_least(estimate: Estimate | None, text: str) -> None:
    assert units.times(estimate) == text


def test_shares_and_powers() -> None:
    assert units.share_with_interval(Estimate(0.91, 0.88, 0.94)).replace(units.NBSP, " ") == "91 % (88–94 %)"
    assert units.share_with_interval(None) == units.NO_VALUE
    assert units.power(-5) == "10⁻⁵"


def test_a_lead_without_an_interval_is_reported_plainly() -> None:
    assert plain(units.slower(Estimate(1.5))) == "50 %"


@pytest.mark.parametrize(
    ("ratio", "value", "bounds"),
    [
        (Estimate(1.15, 1.12, 1.18), "+15 %", "12–18 %"),
        (Estimate(1.02, 1.0, 1.05), "+2.0 %", "0–5.0 %"),
        (Estimate(2.5), "+150 %", ""),
        (Estimate(3.4, 3.1, 3.7), "3.40×", "3.10–3.70×"),
        (Estimate(34.56, 28.5, 41.8), "34.6×", "28.5–41.8×"),
        (Estimate(340.0), "340×", ""),
    ],
)
def test_a_distance_to_the_best_is_a_multiple_where_percents_would_be_many(
    ratio: Estimate, value: str, bounds: str
) -> None:
    assert tuple(map(plain, units.behind(ratio))) == (value, bounds)


@pytest.mark.parametrize(
    ("seconds", "written"), [(40, "40 s"), (1500, "25 min"), (4 * 3600, "4 h"), (3 * 86_400, "3 days")]
)
def test_a_time_to_come_is_rough(seconds: float, written: str) -> None:
    assert units.roughly(seconds) == written
