import pytest
from hypothesis import given
from hypothesis import strategies as st

from levelfield.backends import protobuf
from levelfield.backends.protobuf import MalformedError, fields


@given(st.integers(-(2**63), 2**63 - 1))
def test_numbers_come_back(value: int) -> None:
    (field,) = fields(memoryview(protobuf.number(3, value)))
    assert (field.number, field.integer) == (3, value)


@given(st.binary(max_size=300))
def test_texts_come_back_between_others(value: bytes) -> None:
    message = protobuf.number(1, 7) + protobuf.text(2, value) + protobuf.number(3, 9)
    found = list(fields(memoryview(message)))
    assert [field.number for field in found] == [1, 2, 3]
    assert bytes(found[1].message) == value
    assert b"".join(field.raw for field in found) == message


@pytest.mark.parametrize("message", [b"\x08", b"\x12\x05ab", b"\x0b", b"\x00\x00", b"\x08" + b"\xff" * 11])
def test_what_is_cut_off_or_unknown_is_refused(message: bytes) -> None:
    with pytest.raises(MalformedError):
        list(fields(memoryview(message)))
