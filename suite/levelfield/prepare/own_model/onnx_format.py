"""What an ONNX file declares: its graph's inputs and outputs, its types, and the files beside it.

Numbers of fields are those of `onnx.proto`, which never change their meaning.

References
----------
https://github.com/onnx/onnx/blob/main/onnx/onnx.proto
"""

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

import msgspec

from levelfield.backends import protobuf
from levelfield.backends.protobuf import Field, MalformedError, fields
from levelfield.prepare.own_model.dimensions import is_named

_MODEL_IR, _MODEL_GRAPH, _MODEL_OPSET, _MODEL_FUNCTION = 1, 7, 8, 25
_OPSET_DOMAIN, _OPSET_VERSION = 1, 2
_GRAPH_NODE, _GRAPH_INITIALIZER, _GRAPH_INPUT, _GRAPH_OUTPUT, _GRAPH_SPARSE = 1, 5, 11, 12, 15
_FUNCTION_NAME, _FUNCTION_NODE, _FUNCTION_DOMAIN = 1, 7, 10
_NODE_INPUT, _NODE_OUTPUT, _NODE_OPERATOR, _NODE_ATTRIBUTE, _NODE_DOMAIN = 1, 2, 4, 5, 7
_ATTRIBUTE_NAME, _ATTRIBUTE_NUMBER, _ATTRIBUTE_TENSORS, _ATTRIBUTE_GRAPHS = 1, 3, (5, 10), (6, 11)
_TENSOR_SIDE, _TENSOR_TYPE, _TENSOR_NAME, _TENSOR_EXTERNAL, _TENSOR_LOCATION = 1, 2, 8, 13, 14
_VALUE_NAME, _VALUE_TYPE = 1, 2
_TYPE_TENSOR = 1
_TYPE_KINDS = {4: "a sequence", 5: "a map", 8: "a sparse tensor", 9: "an optional value"}
_TYPE_ELEMENT, _TYPE_SHAPE = 1, 2
_TENSOR_ELEMENT, _TENSOR_SHAPE = ((_VALUE_TYPE, _TYPE_TENSOR, number) for number in (_TYPE_ELEMENT, _TYPE_SHAPE))
"""From a value to its tensor's element type and shape."""
_SHAPE_DIM, _DIM_VALUE, _DIM_PARAM = 1, 1, 2
_KEY, _VALUE = 1, 2
_EXTERNAL = 1
MAX_DEPTH = 16
"""Graphs within graphs (loops, conditions) that are looked into."""
MAX_NAME = 4096
"""Characters of a name; a longer one is refused."""
MAX_FIELDS = 5_000_000
"""Fields that are walked over, of all graphs together: a multiple of those of the largest models."""
MAX_VALUES = 1024
"""Inputs, and outputs, at the most."""
MAX_SIDES = 64
"""Dimensions of one of them, as in NumPy."""

DTYPES = {
    1: "float32", 2: "uint8", 3: "int8", 4: "uint16", 5: "int16", 6: "int32", 7: "int64", 8: "string", 9: "bool",
    10: "float16", 11: "float64", 12: "uint32", 13: "uint64", 14: "complex64", 15: "complex128", 16: "bfloat16",
    17: "float8e4m3fn", 18: "float8e4m3fnuz", 19: "float8e5m2", 20: "float8e5m2fnuz", 21: "uint4", 22: "int4",
    23: "float4e2m1", 24: "float8e8m0", 25: "uint2", 26: "int2",
}  # fmt: skip


class Dimension(msgspec.Struct, frozen=True):
    """One side of a tensor: a size, or else a name, or neither."""

    size: int | None = None
    name: str = ""


class Value(msgspec.Struct, frozen=True):
    """An input or output of the graph."""

    name: str
    dtype: str
    """As NumPy calls it; of what is no tensor, what it is instead."""
    shape: tuple[Dimension, ...] | None
    """None: not even how many sides it has is known."""


class Node(msgspec.Struct, frozen=True):
    operator: str
    domain: str
    """Empty: ONNX's own."""
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    numbers: dict[str, int]
    """Attributes that are whole numbers."""


class Graph(msgspec.Struct, frozen=True):
    """What is known of a file without running it."""

    inputs: tuple[Value, ...]
    """Those that a caller must give: not the weights, which old files list among them."""
    outputs: tuple[Value, ...]
    ir: int
    """Version of the format."""
    opset: int
    nodes: tuple[Node, ...]
    """Of all graphs, those of conditions, loops and functions among them."""
    functions: frozenset[tuple[str, str]]
    """Domain and name of the operators that the file defines itself."""
    elements: dict[str, int]
    """Numbers in its weights, by type."""
    beside: tuple[str, ...]
    """Names of the files that hold weights, as the file names them."""


class _Weight(NamedTuple):
    dtype: str
    elements: int
    file: str


def read_graph(model: memoryview) -> Graph:
    """Read what a file declares.

    Raises MalformedError: it is not an ONNX model, or has more than `MAX_FIELDS`.
    """
    with protobuf.bounded(MAX_FIELDS):
        return _graph(model)


def _graph(model: memoryview) -> Graph:
    graphs = [each.message for each in _find(model, _MODEL_GRAPH)]
    ir = next((each.integer for each in _find(model, _MODEL_IR)), None)
    if len(graphs) != 1 or ir is None:
        raise MalformedError("It holds no graph.")
    (graph,) = graphs
    functions = [each.message for each in _find(model, _MODEL_FUNCTION)]
    weights = {_text(each.message, _TENSOR_NAME) for each in _find(graph, _GRAPH_INITIALIZER)}
    weights |= {_text(each.message, _TENSOR_NAME) for each in _find(graph, _GRAPH_SPARSE, 1)}
    inputs = tuple(_value(each.message) for each in _find(graph, _GRAPH_INPUT))
    found = [*_insides(graph, MAX_DEPTH)]
    for each in functions:
        found += _of_nodes(_find(each, _FUNCTION_NODE), MAX_DEPTH)
    tensors = [each for each in found if isinstance(each, _Weight)]
    elements: Counter[str] = Counter()
    for tensor in tensors:
        elements[tensor.dtype] += tensor.elements
    inputs = tuple(value for value in inputs if value.name not in weights)
    outputs = tuple(_value(each.message) for each in _find(graph, _GRAPH_OUTPUT))
    if max(len(inputs), len(outputs)) > MAX_VALUES:
        raise MalformedError(f"It has more inputs or outputs than {MAX_VALUES}.")
    if any(len(value.shape or ()) > MAX_SIDES for value in (*inputs, *outputs)):
        raise MalformedError(f"An input or output has more dimensions than {MAX_SIDES}.")
    return Graph(
        inputs=inputs,
        outputs=outputs,
        ir=ir,
        opset=max((_opset(each.message) for each in _find(model, _MODEL_OPSET)), default=0),
        nodes=tuple(each for each in found if isinstance(each, Node)),
        functions=frozenset((_domain(each, _FUNCTION_DOMAIN), _text(each, _FUNCTION_NAME)) for each in functions),
        elements=dict(elements),
        beside=tuple(dict.fromkeys(each.file for each in tensors if each.file)),
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


def _insides(graph: memoryview, depth: int) -> Iterator[_Weight | Node]:
    """Yield every weight and every node, in all graphs."""
    if depth == 0:
        raise MalformedError("Its graphs lie too deep in one another.")
    yield from (_tensor(each.message) for each in _find(graph, _GRAPH_INITIALIZER))
    for each in _find(graph, _GRAPH_SPARSE):
        yield from (_tensor(part.message) for part in fields(each.message) if part.number in {1, 2})
    yield from _of_nodes(_find(graph, _GRAPH_NODE), depth)


def _of_nodes(nodes: Iterable[Field], depth: int) -> Iterator[_Weight | Node]:
    for node in nodes:
        names: dict[int, list[str]] = {_NODE_INPUT: [], _NODE_OUTPUT: [], _NODE_OPERATOR: []}
        numbers: dict[str, int] = {}
        for each in fields(node.message):
            if each.number in names:
                names[each.number].append(_bounded(each.text))
            elif each.number == _NODE_ATTRIBUTE:
                number = None
                for part in fields(each.message):
                    if part.number in _ATTRIBUTE_TENSORS:
                        yield _tensor(part.message)
                    elif part.number in _ATTRIBUTE_GRAPHS:
                        yield from _insides(part.message, depth - 1)
                    elif part.number == _ATTRIBUTE_NUMBER:
                        number = part.integer
                if number is not None:
                    numbers[_text(each.message, _ATTRIBUTE_NAME)] = number
        inputs, outputs = tuple(names[_NODE_INPUT]), tuple(names[_NODE_OUTPUT])
        yield Node("".join(names[_NODE_OPERATOR]), _domain(node.message, _NODE_DOMAIN), inputs, outputs, numbers)


def _tensor(tensor: memoryview) -> _Weight:
    kind, elsewhere, file = 0, False, ""
    sides: list[int] = []
    for each in fields(tensor):
        if each.number == _TENSOR_SIDE:
            packed = isinstance(each.value, memoryview) and len(each.value) > MAX_SIDES * protobuf.LONGEST_BYTES
            sides += () if packed else each.integers
            if packed or len(sides) > MAX_SIDES:
                raise MalformedError(f"A weight has more dimensions than {MAX_SIDES}.")
        elif each.number == _TENSOR_TYPE:
            kind = each.integer
        elif each.number == _TENSOR_LOCATION:
            elsewhere = each.integer == _EXTERNAL
        elif each.number == _TENSOR_EXTERNAL and _text(each.message, _KEY) == "location":
            file = _text(each.message, _VALUE)
    if elsewhere and not file:
        raise MalformedError("A weight is in another file that it does not name.")
    return _Weight(DTYPES.get(kind, f"type {kind}"), math.prod(sides), file if elsewhere else "")


def _value(value: memoryview) -> Value:
    shape = None
    for each in _find(value, *_TENSOR_SHAPE):
        shape = tuple(_dimension(side.message) for side in _find(each.message, _SHAPE_DIM))
    if element := _element(value):
        dtype = DTYPES.get(element, f"type {element}")
    else:
        kinds = [_TYPE_KINDS[each.number] for each in _find_all(value, _VALUE_TYPE) if each.number in _TYPE_KINDS]
        dtype = next(iter(kinds), "nothing that the file says the type of")
    return Value(_text(value, _VALUE_NAME), dtype, shape)


def _dimension(side: memoryview) -> Dimension:
    for each in fields(side):
        if each.number == _DIM_PARAM and is_named(each.text):
            return Dimension(name=_bounded(each.text))
        if each.number == _DIM_VALUE and each.integer >= 0:  # some exporters write -1 where they know none
            return Dimension(size=each.integer)
    return Dimension()


def _element(value: memoryview) -> int:
    """Return the number of a tensor's element type; 0: it is no tensor."""
    return next((each.integer for each in _find(value, *_TENSOR_ELEMENT)), 0)


def _opset(entry: memoryview) -> int:
    """Return the version of ONNX's own operators; 0: the entry is about others'."""
    if _domain(entry, _OPSET_DOMAIN):
        return 0
    return next((each.integer for each in _find(entry, _OPSET_VERSION)), 0)


def _text(message: memoryview, number: int) -> str:
    return _bounded(next((each.text for each in _find(message, number)), ""))


def _domain(message: memoryview, number: int) -> str:
    """Return a domain of operators; empty: ONNX's own."""
    found = _text(message, number)
    return "" if found == "ai.onnx" else found


def _find_all(message: memoryview, number: int) -> Iterator[Field]:
    for each in _find(message, number):
        yield from fields(each.message)


def _find(message: memoryview, number: int, *path: int) -> Iterator[Field]:
    """Yield the fields of a number; with further numbers, the fields of those in the messages that they hold."""
    for each in fields(message):
        if each.number == number:
            yield from _find(each.message, *path) if path else (each,)


def _bounded(text: str) -> str:
    if len(text) > MAX_NAME:
        raise MalformedError(f"One of its names has {len(text)} characters.")
    return text
