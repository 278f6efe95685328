"""An ONNX file without the `onnx` package."""

import pytest

from suite.backends import onnx_graph
from suite.backends.protobuf import MalformedError
from tests.backends.onnx_files import model

FILE = model({"w": b"12345678", "v": b"9999"})


def test_nodes_stand_in_the_order_of_the_file() -> None:
    found = list(onnx_graph.nodes(memoryview(FILE)))
    assert found == [("Relu", ("x",), ("y",)), ("Neg", ("y",), ("z",))]
    assert onnx_graph.outputs(memoryview(FILE)) == ("z",)


def test_outputs_are_added_and_the_file_stays_as_it_is() -> None:
    more = onnx_graph.with_outputs(FILE, ["y"])
    assert more.startswith(FILE)
    assert onnx_graph.outputs(memoryview(more)) == ("z", "y")
    assert len(list(onnx_graph.nodes(memoryview(more)))) == 2


def test_what_is_no_file_of_this_kind_is_refused() -> None:
    with pytest.raises(MalformedError):
        list(onnx_graph.nodes(memoryview(FILE[:-1])))
