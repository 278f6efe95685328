"""Cutting bytes into lines."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from levelfield.launchers import channel
from levelfield.launchers.channel import STDERR_BYTES, Lines, LineTooLong


@given(st.lists(st.binary(max_size=20).map(lambda line: line.replace(b"\n", b""))), st.data())
def test_lines_come_out_whole_however_the_bytes_arrive(lines: list[bytes], data: st.DataObject) -> None:
    stream = b"".join(line + b"\n" for line in lines) + b"torn"
    cutter = Lines()
    while stream:
        size = data.draw(st.integers(1, len(stream)))
        cutter.feed(stream[:size])
        stream = stream[size:]
    assert [cutter.pop() for _ in lines] == lines
    assert cutter.pop() is None


def test_a_line_that_is_longer_than_any_honest_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(channel, "MAX_LINE_BYTES", 10)
    cutter = Lines()
    cutter.feed(b"0123456789")
    with pytest.raises(LineTooLong):
        cutter.feed(b"0")


def test_only_the_end_of_stderr_is_kept() -> None:
    cutter = Lines()
    for number in range(3000):
        cutter.feed_stderr(b"word %d\n" % number)
    assert cutter.tail().endswith("word 2999\n")
    note, _, kept = cutter.tail().partition("\n")
    assert len(kept) == STDERR_BYTES
    assert note.endswith("bytes of output dropped]")
