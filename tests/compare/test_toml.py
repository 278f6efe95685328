"""What is written as TOML is read again as it was, whatever its texts hold."""

import tomllib
from typing import Any

import pytest

from levelfield.compare.gate import as_toml

HOSTILE = [
    'a"b\\c',
    "\x1b[2J",
    "two\nlines\ttab",
    "\x7f\x9b31m",
    "\u202etxt",
    '"""',
    "'",
    "émoji 🚀",
    "\u2028",
    "]] = 1",
    "",
]


@pytest.mark.parametrize("text", HOSTILE)
def test_any_text_comes_back(text: str) -> None:
    values: dict[str, Any] = {
        "text": text,
        text: 1,
        "table": {text: text, "inner": {text: [text]}},
        "entry": [{"name": text, text: {text: 1.5}}],
    }
    written = as_toml(values)
    assert tomllib.loads(written) == values
    assert not any(ord(character) < 32 and character != "\n" for character in written)
    assert "\x7f" not in written
    assert "\u202e" not in written


def test_numbers_come_back_to_the_last_bit() -> None:
    values: dict[str, Any] = {"a": [0.1, 1e-300, 1e22, 5e-5, -0.0, 2.0], "b": 2**62, "c": True, "d": []}
    found = tomllib.loads(as_toml(values))
    assert found == values
    assert isinstance(found["a"][5], float)
    assert found["c"] is True


def test_null_is_left_out_and_half_a_character_replaced() -> None:
    assert tomllib.loads(as_toml({"a": None, "b": {"c": None}, "d": "\ud800"})) == {"b": {}, "d": "\ufffd"}
    with pytest.raises(ValueError, match="no null"):
        as_toml({"a": [None]})
