import pytest
from hypothesis import given
from hypothesis import strategies as st

from levelfield.compatibility.versions import is_version, key, minor, within


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("570.26", "570.124.06"),
        ("535.54.03", "535.104.05"),
        ("560.28.03", "560.35.03"),
        ("580.65.06", "580.95.05"),
        ("9.9.0", "9.10.0"),
        ("12.9", "13.0"),
        ("470.57.02", "525.60.13"),
        ("590.48.01", "610.43.02"),
    ],
)
def test_numbers_are_compared_as_numbers(older: str, newer: str) -> None:
    assert key(older) < key(newer)


def test_zeros_do_not_count() -> None:
    assert key("12.8") == key("12.8.0") == key("12.08")
    assert key("570.124.06") == key("570.124.6")
    assert minor("13") == (13, 0)
    assert minor("12.8.1") == (12, 8)


@pytest.mark.parametrize("text", ["", "13.x", "v13", "13..0", "13.0 ", "13.0\n", "-1", "1" * 10, "١٣.٠", "13.0+cu"])
def test_what_is_no_version(text: str) -> None:
    assert not is_version(text)
    with pytest.raises(ValueError, match="not a version"):
        key(text)


_numbers = st.lists(st.integers(0, 999_999_999), min_size=1, max_size=5)


@given(_numbers, _numbers)
def test_the_order_is_that_of_the_numbers(one: list[int], other: list[int]) -> None:
    length = max(len(one), len(other))
    padded = [numbers + [0] * (length - len(numbers)) for numbers in (one, other)]
    first, second = (key(".".join(map(str, numbers))) for numbers in (one, other))
    assert (first < second) == (padded[0] < padded[1])
    assert (first == second) == (padded[0] == padded[1])


def test_a_range_holds_its_lower_bound_only() -> None:
    assert within("9.10.0", "9.10.0", "9.10.1")
    assert not within("9.10.1", "9.10.0", "9.10.1")
    assert within("9.10.0.56", "9.10.0", "9.10.1")
    assert within("1", None, None)
