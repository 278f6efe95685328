"""What people type, as values."""

from typing import Any

import click
import pytest

from suite.options import DURATION, NAMES, NUMBERS, PERCENT


@pytest.mark.parametrize(
    ("kind", "text", "value"),
    [
        (NAMES, "a,b", ("a", "b")),
        (NAMES, " a , b ,", ("a", "b")),
        (NAMES, "", ()),
        (NUMBERS, "1,8,32", (1, 8, 32)),
        (NUMBERS, " 4 ", (4,)),
        (DURATION, "90", 90.0),
        (DURATION, "90s", 90.0),
        (DURATION, "10m", 600.0),
        (DURATION, "10 min", 600.0),
        (DURATION, "1.5h", 5400.0),
        (PERCENT, "2%", 0.02),
        (PERCENT, "0.02", 0.02),
        (PERCENT, " 12.5 % ", 0.125),
    ],
)
def test_values(kind: click.ParamType[Any], text: str, value: object) -> None:
    assert kind.convert(text, None, None) == value
    assert kind.convert(value, None, None) == value


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        (NUMBERS, "1,two"),
        (NUMBERS, "1.5"),
        (DURATION, "soon"),
        (DURATION, "-5"),
        (DURATION, "5 weeks"),
        (DURATION, "0"),
        (DURATION, "9" * 400),
        (DURATION, ""),
        (PERCENT, "0"),
        (PERCENT, "100%"),
        (PERCENT, "-2%"),
        (PERCENT, "nan"),
        (PERCENT, "2"),
        (PERCENT, "%"),
    ],
)
def test_what_is_no_value_says_what_one_looks_like(kind: click.ParamType[Any], text: str) -> None:
    with pytest.raises(click.BadParameter, match="such as"):
        kind.convert(text, None, None)
