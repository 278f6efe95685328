"""Cutting bytes into lines."""

from hypothesis import given
from hypothesis import strategies as st

from levelfield.launchers.channel import Lines


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
