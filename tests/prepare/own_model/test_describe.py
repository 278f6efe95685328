"""What is measured of a file, from the inputs that it declares."""

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from levelfield.backends import protobuf
from levelfield.prepare.own_model import onnx_format
from tests.prepare.own_model import onnx_files
from tests.prepare.own_model.onnx_files import read, refused

pytestmark = pytest.mark.usefixtures("cache")


def test_only_the_batch_needs_no_size(tmp_path: Path) -> None:
    path = onnx_files.write(tmp_path, "encoder.onnx", onnx_files.encoder())
    with refused("The input tokens of encoder.onnx has the dimension sequence", "--input sequence=128"):
        read(path)
    with refused("has no dimension sequense without a size", "sequence"):
        read(path, {"sequense": 12})
    with refused("cannot be 0 long"):
        read(path, {"sequence": 0})
    one = read(path, {"sequence": 12})
    assert [(each.shape, each.batched) for each in one.inputs] == [((12,), True)] * 2
    assert one.dimensions == {"sequence": 12}
    fixed = read(path, {"sequence": 12, "batch": 3})
    assert not fixed.batched
    by_place = read(path, {"tokens[1]": 12, "mask[1]": 12})
    assert [(each.shape, each.batched) for each in by_place.inputs] == [((12,), True)] * 2


def test_what_cannot_be_measured_is_refused_in_a_sentence(tmp_path: Path) -> None:
    def of(inputs: list[bytes], outputs: list[bytes]) -> Path:
        return onnx_files.write(tmp_path, "odd.onnx", onnx_files.model([], [], inputs, outputs))

    number = onnx_files.value("x", onnx_files.FLOAT, [1])
    with refused("has no inputs"):
        read(of([], [number]))
    with refused("has no outputs"):
        read(of([number], []))
    with refused("input x of odd.onnx takes string"):
        read(of([onnx_files.value("x", onnx_files.STRING, [1])], [number]))
    with refused("input x of odd.onnx takes bfloat16"):
        read(of([onnx_files.value("x", 16, [1])], [number]))
    with refused("does not say how many dimensions its input x has"):
        read(of([onnx_files.value("x", onnx_files.FLOAT, None)], [number]))
    with refused("output y of odd.onnx is no tensor", "zipmap=False"):
        read(of([number], [protobuf.text(1, b"y") + protobuf.text(2, protobuf.text(4, b""))]))
    with refused("two inputs of one name"):
        read(of([number, number], [number]))


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
