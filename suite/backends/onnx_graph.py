"""An ONNX file as a row of nodes, without the `onnx` package: what each puts out.

References
----------
https://github.com/onnx/onnx/blob/main/onnx/onnx.proto
"""

from collections.abc import Iterator, Sequence

from suite.backends import protobuf
from suite.backends.protobuf import Field

_MODEL_GRAPH = 7
_GRAPH_NODE, _GRAPH_OUTPUT = 1, 12
_NODE_INPUT, _NODE_OUTPUT, _NODE_KIND = 1, 2, 4
_VALUE_NAME = 1


def nodes(model: memoryview) -> Iterator[tuple[str, tuple[str, ...], tuple[str, ...]]]:
    """Yield the kind, the inputs and the outputs of every node, in the order of the file, which is that of computation.

    Parameters
    ----------
    model
        Content of the file.

    Raises
    ------
    MalformedError
        It is no such file.
    """
    for field in _graph(model):
        if field.number == _GRAPH_NODE:
            found = list(protobuf.fields(field.message))
            kind = next((each.text for each in found if each.number == _NODE_KIND), "")
            yield kind, _texts(found, _NODE_INPUT), _texts(found, _NODE_OUTPUT)


def outputs(model: memoryview) -> tuple[str, ...]:
    """Return the names of the graph's outputs; raises as `nodes` does."""
    return tuple(
        name
        for field in _graph(model)
        if field.number == _GRAPH_OUTPUT
        for name in _texts(list(protobuf.fields(field.message)), _VALUE_NAME)
    )


def with_outputs(model: bytes, names: Sequence[str]) -> bytes:
    """Return a file whose graph also puts out these tensors.

    A message that stands twice is merged by every reader of Protocol Buffers, so nothing of the file is rewritten.

    Parameters
    ----------
    model
        Content of the file.
    names
        Of tensors that its nodes put out.
    """
    added = b"".join(protobuf.text(_GRAPH_OUTPUT, protobuf.text(_VALUE_NAME, name.encode())) for name in names)
    return model + protobuf.text(_MODEL_GRAPH, added)


def _graph(model: memoryview) -> Iterator[Field]:
    for field in protobuf.fields(model):
        if field.number == _MODEL_GRAPH:
            yield from protobuf.fields(field.message)


def _texts(found: Sequence[Field], number: int) -> tuple[str, ...]:
    return tuple(each.text for each in found if each.number == number)
