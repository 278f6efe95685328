import pytest

from levelfield.errors import LevelfieldError
from levelfield.imported import decoding
from levelfield.imported.types import NO_DATE
from levelfield.record.schema import Absent


def test_errors_name_the_field() -> None:
    with pytest.raises(LevelfieldError, match=r"The output of that tool cannot be read: Expected `int`.*\$\[0\]"):
        decoding.decode(b'["x"]', list[int], "that tool")


@pytest.mark.parametrize("said", [b"", b"\xff", b"[" * 100_000, b"[" + b"9" * 5_000 + b"]"])
def test_whatever_it_is_it_is_one_sentence(said: bytes) -> None:
    with pytest.raises(LevelfieldError, match="cannot be read"):
        decoding.decode(said, list[int], "that tool")


def test_texts_are_bounded_and_printable() -> None:
    assert decoding.said("a\x1b[2J b\n c") == "a\N{REPLACEMENT CHARACTER}[2J b c"
    assert len(str(decoding.said("x" * 10_000))) == 200
    assert isinstance(decoding.said(None), Absent)
    assert isinstance(decoding.said(10**30), Absent)
    assert decoding.said(2.5) == 2.5


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("2026-11-26 05:19:08.728723", "2026-11-26T05:19:08Z"),
        ("2026-11-26T07:19:08+02:00", "2026-11-26T05:19:08Z"),
        ("yesterday", NO_DATE),
        ("", NO_DATE),
        (None, NO_DATE),
    ],
)
def test_moments(written: str | None, read: str | Absent) -> None:
    assert decoding.moment(written) == read
