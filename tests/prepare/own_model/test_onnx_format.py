"""Reading ONNX files, whatever they hold."""

from hypothesis import given, settings
from hypothesis import strategies as st

from levelfield.backends import protobuf
from levelfield.prepare.own_model import onnx_format
from tests.prepare.own_model import onnx_files


@settings(max_examples=300, deadline=None)
@given(cut=st.integers(0, 10_000), place=st.integers(0, 10_000), byte=st.integers(0, 255))
def test_a_damaged_file_is_read_or_refused_and_nothing_else(cut: int, place: int, byte: int) -> None:
    content = bytearray(onnx_files.encoder())
    content[place % len(content)] = byte
    del content[cut % (2 * len(content)) :]
    try:
        onnx_format.read_graph(memoryview(bytes(content)))
        b"".join(onnx_format.fixed(memoryview(bytes(content)), {"tokens": (1, 12)}))
    except protobuf.MalformedError:
        pass
