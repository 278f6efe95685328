import pytest

from suite.errors import LevelfieldError
from suite.fieldtools.values import LARGEST, LONGEST, refused, scaled, text
from suite.record.schema import Absent


def test_a_text_is_one_printable_line_without_uuids() -> None:
    assert (
        text(" GPU-f9ba66fc-a7f5-94c5-da19-019ef2f9c665\n\x1b[2J is lost ")
        == "GPU-… \N{REPLACEMENT CHARACTER}[2J is lost"
    )
    assert len(text("a" * 1000)) == LONGEST


@pytest.mark.parametrize(
    ("value", "exponent", "number"), [("56.3829", 9, 56382900000.0), ("1.2e+06", 0, 1.2e6), ("0", 3, 0.0)]
)
def test_a_number_is_scaled_exactly(value: str, exponent: int, number: float) -> None:
    assert scaled(value, exponent) == number


@pytest.mark.parametrize("value", ["N/A", "", "nan", "inf", "-1", "1e999999999", str(LARGEST * 10), "1_0x"])
def test_what_is_no_number_or_cannot_be_is_absent(value: str) -> None:
    assert isinstance(scaled(value, 0), Absent)


def test_an_error_is_a_sentence_however_long_the_output() -> None:
    error = refused("a tool", "x" * 10_000)
    assert isinstance(error, LevelfieldError)
    assert error.message.startswith("The output of a tool cannot be read: x")
    assert len(error.message) < 300
