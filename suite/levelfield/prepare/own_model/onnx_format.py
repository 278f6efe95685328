"""What an ONNX file declares: its graph's inputs and outputs, its types, and the files beside it.

Numbers of fields are those of `onnx.proto`, which never change their meaning.

References
----------
https://github.com/onnx/onnx/blob/main/onnx/onnx.proto
"""

from collections.abc import Iterator, Mapping

import msgspec

from levelfield.backends import protobuf
from levelfield.backends.protobuf import Field, MalformedError, fields

_MODEL_IR, _MODEL_GRAPH, _MODEL_OPSET = 1, 7, 8
_OPSET_DOMAIN, _OPSET_VERSION = 1, 2
_GRAPH_NODE, _GRAPH_INITIALIZER, _GRAPH_INPUT, _GRAPH_OUTPUT, _GRAPH_SPARSE = 1, 5, 11, 12, 15
_NODE_OPERATOR, _NODE_ATTRIBUTE, _NODE_DOMAIN = 4, 5, 7
_ATTRIBUTE_TENSORS, _ATTRIBUTE_GRAPHS = (5, 10), (6, 11)
_TENSOR_TYPE, _TENSOR_NAME, _TENSOR_EXTERNAL, _TENSOR_LOCATION = 2, 8, 13, 14
_VALUE_NAME, _VALUE_TYPE = 1, 2
_TYPE_TENSOR = 1
_TYPE_ELEMENT, _TYPE_SHAPE = 1, 2
_TENSOR_ELEMENT, _TENSOR_SHAPE = ((_VALUE_TYPE, _TYPE_TENSOR, number) for number in (_TYPE_ELEMENT, _TYPE_SHAPE))
"""From a value to its tensor's element type and shape."""
_SHAPE_DIM, _DIM_VALUE, _DIM_PARAM = 1, 1, 2
_KEY, _VALUE = 1, 2
_EXTERNAL = 1
MAX_DEPTH = 16
"""Graphs within graphs (loops, conditions) that are looked into."""
MAX_NAME = 200
"""Characters of a name; a longer one is refused."""

DTYPES = {
    1: "float32", 2: "uint8", 3: "int8", 4: "uint16", 5: "int16", 6: "int32", 7: "int64", 8: "string", 9: "bool",
    10: "float16", 11: "float64", 12: "uint32", 13: "uint64", 14: "complex64", 15: "complex128", 16: "bfloat16",
}  # fmt: skip
_HALVES = {10, 16}
_QUANTISED = ("QuantizeLinear", "DequantizeLinear", "QLinear", "Integer", "DynamicQuantize", "QGemm", "QAttention")
"""What names of operators on 8-bit integers hold."""


class Dimension(msgspec.Struct, frozen=True):
    """One side of a tensor: a size, or else a name, or neither."""

    size: int | None = None
    name: str = ""


class Value(msgspec.Struct, frozen=True):
    """An input or output of the graph."""

    name: str
    dtype: str
    """As NumPy calls it; empty: it is no tensor."""
    shape: tuple[Dimension, ...] | None
    """None: not even how many sides it has is known."""


class Graph(msgspec.Struct, frozen=True):
    """What is known of a file without running it."""

    inputs: tuple[Value, ...]
    """Those that a caller must give: not the weights, which old files list among them."""
    outputs: tuple[Value, ...]
    opset: int
    halves: bool
    """Whether any weight, input or output is in 16-bit floating point."""
    quantised: bool
    """Whether any operator quantises or takes 8-bit integers."""
    beside: tuple[str, ...]
    """Names of the files that hold weights, as the file names them."""


def read_graph(model: memoryview) -> Graph:
    """Read what a file declares.

    Raises MalformedError: it is not an ONNX model.
    """
    graphs = [each.message for each in _find(model, _MODEL_GRAPH)]
    if len(graphs) != 1 or not any(_find(model, _MODEL_IR)):
        raise MalformedError("It holds no graph.")
    (graph,) = graphs
    weights = {_text(each.message, _TENSOR_NAME) for each in _find(graph, _GRAPH_INITIALIZER)}
    inputs = tuple(_value(each.message) for each in _find(graph, _GRAPH_INPUT))
    outputs = tuple(_value(each.message) for each in _find(graph, _GRAPH_OUTPUT))
    given = tuple(value for value in inputs if value.name not in weights)
    found = tuple(_insides(graph, MAX_DEPTH))
    return Graph(
        inputs=given,
        outputs=outputs,
        opset=max((_opset(each.message) for each in _find(model, _MODEL_OPSET)), default=0),
        halves=any(kind in _HALVES for kind, _, _ in found)
        or any(value.dtype in {"float16", "bfloat16"} for value in (*given, *outputs)),
        quantised=any(any(part in operator for part in _QUANTISED) for _, operator, _ in found),
        beside=tuple(dict.fromkeys(file for _, _, file in found if file)),
    )


def fixed(model: memoryview, shapes: Mapping[str, tuple[int, ...]]) -> Iterator[bytes | memoryview]:
    """Write a file again with these shapes of its inputs; everything else stays as it is, byte by byte.

    `shapes`: input to shape; the others stay too.
    """
    for each in fields(model):
        if each.number != _MODEL_GRAPH:
            yield each.raw
            continue
        parts = [_with_shape(inner, shapes) for inner in fields(each.message)]
        yield protobuf.header(_MODEL_GRAPH, sum(map(len, parts)))
        yield from parts


def _with_shape(field: Field, shapes: Mapping[str, tuple[int, ...]]) -> bytes | memoryview:
    if field.number != _GRAPH_INPUT or (name := _text(field.message, _VALUE_NAME)) not in shapes:
        return field.raw
    sides = b"".join(protobuf.text(_SHAPE_DIM, protobuf.number(_DIM_VALUE, size)) for size in shapes[name])
    tensor = protobuf.number(_TYPE_ELEMENT, _element(field.message)) + protobuf.text(_TYPE_SHAPE, sides)
    kind = protobuf.text(_TYPE_TENSOR, tensor)
    return protobuf.text(_GRAPH_INPUT, protobuf.text(_VALUE_NAME, name.encode()) + protobuf.text(_VALUE_TYPE, kind))


def _insides(graph: memoryview, depth: int) -> Iterator[tuple[int, str, str]]:
    """Yield the element type and the file of every tensor, and the operator of every node, in all graphs."""
    if depth == 0:
        raise MalformedError("Its graphs lie too deep in one another.")
    for each in fields(graph):
        if each.number == _GRAPH_INITIALIZER:
            yield _tensor(each.message)
        elif each.number == _GRAPH_SPARSE:
            yield from (_tensor(part.message) for part in fields(each.message) if part.number in {1, 2})
        elif each.number == _GRAPH_NODE:
            yield from ((0, part.text, "") for part in _find(each.message, _NODE_OPERATOR))
            for attribute in _find(each.message, _NODE_ATTRIBUTE):
                for part in fields(attribute.message):
                    if part.number in _ATTRIBUTE_TENSORS:
                        yield _tensor(part.message)
                    elif part.number in _ATTRIBUTE_GRAPHS:
                        yield from _insides(part.message, depth - 1)


def _tensor(tensor: memoryview) -> tuple[int, str, str]:
    kind, elsewhere, file = 0, False, ""
    for each in fields(tensor):
        if each.number == _TENSOR_TYPE:
            kind = each.integer
        elif each.number == _TENSOR_LOCATION:
            elsewhere = each.integer == _EXTERNAL
        elif each.number == _TENSOR_EXTERNAL and _text(each.message, _KEY) == "location":
            file = _text(each.message, _VALUE)
    if elsewhere and not file:
        raise MalformedError("A weight is in another file that it does not name.")
    return kind, "", file if elsewhere else ""


def _value(value: memoryview) -> Value:
    shape = None
    for each in _find(value, *_TENSOR_SHAPE):
        shape = tuple(_dimension(side.message) for side in _find(each.message, _SHAPE_DIM))
    element = _element(value)
    return Value(_text(value, _VALUE_NAME), DTYPES.get(element, f"type {element}") if element else "", shape)


def _dimension(side: memoryview) -> Dimension:
    for each in fields(side):
        if each.number == _DIM_PARAM and each.message:
            return Dimension(name=_bounded(each.text))
        if each.number == _DIM_VALUE and each.integer > 0:  # some exporters write 0 or -1 where they know none
            return Dimension(size=each.integer)
    return Dimension()


def _element(value: memoryview) -> int:
    """Return the number of a tensor's element type; 0: it is no tensor."""
    return next((each.integer for each in _find(value, *_TENSOR_ELEMENT)), 0)


def _opset(entry: memoryview) -> int:
    """Return the version of ONNX's own operators; 0: the entry is about others'."""
    if _text(entry, _OPSET_DOMAIN) not in {"", "ai.onnx"}:
        return 0
    return next((each.integer for each in _find(entry, _OPSET_VERSION)), 0)


def _text(message: memoryview, number: int) -> str:
    return _bounded(next((each.text for each in _find(message, number)), ""))


def _find(message: memoryview, number: int, *path: int) -> Iterator[Field]:
    """Yield the fields of a number; with further numbers, the fields of those in the messages that they hold."""
    for each in fields(message):
        if each.number == number:
            yield from _find(each.message, *path) if path else (each,)


def _bounded(text: str) -> str:
    if len(text) > MAX_NAME:
        raise MalformedError(f"One of its names has {len(text)} characters.")
    return text
