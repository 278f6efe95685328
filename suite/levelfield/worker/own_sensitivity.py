"""What a user's own ONNX file answers when it is rounded otherwise, and in float64. Runs in the exporter's image.

Weights and inputs are moved as `zoo.sensitivity` says, each by units of its own type, and ONNX Runtime answers without
its optimisations. `onnx`'s reference evaluator, which is nobody's product, answers in float64 where the file takes
`MOST_OPERATIONS` at the most: it computes in Python.
"""

import math
import signal
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from levelfield.backends.protocol import Arrays, Unsupported
from levelfield.worker import messages
from levelfield.worker.failures import beginning
from levelfield.worker.session import concatenated
from levelfield.zoo import inputs
from levelfield.zoo.sensitivity import ROUNDED, largest, moved

_Any: TypeAlias = Any  # modules that only this image has, and protobuf's messages, which have no type here
_Shapes: TypeAlias = dict[str, tuple[int, ...]]
MOST_OPERATIONS = 1 << 28
"""Multiplications, and numbers that other operators write: about a minute of the evaluator."""
EVALUATION_S = 120
"""No longer than this, whatever was counted."""
MOST_BYTES = (2 << 30) - 1
_EXACT = {"Resize": 4, "Upsample": 2, "Range": 3, "OneHot": 3, "NonMaxSuppression": 5}
"""Operators whose first inputs of so many decide a size: constants among them stay."""
_LOOPS = ("Loop", "Scan", "SequenceMap")
_SLOW = ("MaxPool", "AveragePool", "LpPool", "GridSample", "RoiAlign", "NonMaxSuppression", "DeformConv", "Resize")
"""Operators that the evaluator computes number by number."""
_SLOWNESS = 1000


def answer(request: messages.Sense) -> messages.Sensed:
    """Move the file's weights and inputs; raises Unsupported where it is too long for that."""
    if sum(each.stat().st_size for each in Path(request.file_path).parent.iterdir()) > MOST_BYTES:
        raise Unsupported("with its weights it is longer than 2 GiB")
    import onnx
    import onnxruntime

    proto = onnx.load(request.file_path)
    calls = [inputs.make_own(request.own, first, request.batch) for first in range(0, request.count, request.batch)]
    weights = {name: onnx.numpy_helper.to_array(tensor) for name, tensor in _weights(proto)}

    def draw(number: int | None) -> tuple[messages.Output, ...]:
        """Answer with weights and inputs moved by a draw; None: as they are."""
        given = calls
        if number is not None:
            for name, tensor in _weights(proto):
                values = moved(name, weights[name], number).astype(weights[name].dtype)
                tensor.CopyFrom(onnx.numpy_helper.from_array(values, tensor.name))
            given = [
                {name: moved(f"input {name} {at}", array, number).astype(array.dtype) for name, array in call.items()}
                for at, call in enumerate(calls)
            ]
        return _by_runtime(onnxruntime, proto.SerializeToString(), given, request.threads)

    exact = [array(each) for each in draw(None)]
    found = largest(exact, lambda number: [array(each) for each in draw(number)], _steps(onnx, proto))
    found = tuple(each.times(ROUNDED) for each in found)
    versions = {"onnxruntime": onnxruntime.__version__, "onnx": onnx.__version__}
    try:
        shapes = {value.name: each.shape for value, each in zip(proto.graph.output, exact, strict=True)}
        answers, unanswered = _in_float64(onnx, onnx.load(request.file_path), calls, shapes), ""
    except Exception as error:  # noqa: BLE001  (the evaluator lacks operators, and says so in many ways)
        answers, unanswered = (), beginning(f"{type(error).__name__}: {error}", 200)
    return messages.Sensed(found, versions, answers, unanswered)


def array(output: messages.Output) -> npt.NDArray[Any]:
    """Return an output's values."""
    return np.frombuffer(output.values, output.dtype).reshape(output.shape)


def _by_runtime(onnxruntime: _Any, model: bytes, calls: Sequence[Arrays], threads: int) -> tuple[messages.Output, ...]:
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.intra_op_num_threads, options.log_severity_level = threads, 4
    session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    return concatenated([session.run(None, call) for call in calls])


def _graphs(graph: _Any) -> Iterator[_Any]:
    """Yield a graph and all within it."""
    yield graph
    for node in graph.node:
        for attribute in node.attribute:
            for inner in (*([attribute.g] if attribute.HasField("g") else []), *attribute.graphs):
                yield from _graphs(inner)


def _weights(proto: _Any) -> Iterator[tuple[str, _Any]]:
    """Yield the tensors in floating point that are constants and decide no size, each with a name of its own."""
    graphs = list(_graphs(proto.graph))
    stay = {name for graph in graphs for node in graph.node for name in node.input[1 : _EXACT.get(node.op_type, 0)]}
    stay |= {name for graph in graphs for node in graph.node if node.op_type == "Range" for name in node.input}
    for at, graph in enumerate(graphs):
        constants = [
            (node.output[0], attribute.t)
            for node in graph.node
            if node.op_type == "Constant"
            for attribute in node.attribute
            if attribute.name == "value"
        ]
        for name, tensor in (*((each.name, each) for each in graph.initializer), *constants):
            if tensor.data_type in _FLOATS and name not in stay:
                yield f"{at} {name}", tensor


def _steps(onnx: _Any, proto: _Any) -> list[float]:
    """Return the distance of the values that each output can have; 0: they are not quantised last."""
    known = {each.name: each for each in proto.graph.initializer}
    for node in proto.graph.node:
        if node.op_type == "Constant":
            known.update((node.output[0], each.t) for each in node.attribute if each.name == "value")
    made = {name: node for node in proto.graph.node for name in node.output}
    found = []
    for output in proto.graph.output:
        node = made.get(output.name)
        while node is not None and node.op_type in {"Reshape", "Transpose", "Squeeze", "Unsqueeze", "Identity"}:
            node = made.get(node.input[0])
        scale = known.get(node.input[1]) if node is not None and node.op_type == "DequantizeLinear" else None
        found.append(float(np.max(onnx.numpy_helper.to_array(scale))) if scale is not None else 0.0)
    return found


_FLOATS = (1, 10, 11, 16)
"""Element types of floating point, as `onnx.proto` numbers them: float32, float16, float64, bfloat16."""
_DOUBLE = 11


def _in_float64(onnx: _Any, proto: _Any, calls: Sequence[Arrays], shapes: _Shapes) -> tuple[messages.Output, ...]:
    """Let the evaluator answer; raises whatever it raises, and ValueError where the file is too large for it.

    `shapes`: of ONNX Runtime's answers, which values of inputs may decide.
    """
    from onnx.reference import ReferenceEvaluator

    operations = _operations(onnx, proto, shapes)
    if operations * len(calls) > MOST_OPERATIONS:
        raise ValueError(f"it takes {operations * len(calls):.1g} operations, and at most {MOST_OPERATIONS} are tried")
    _widen(onnx, proto)
    evaluator = ReferenceEvaluator(proto)
    wide = [
        {name: each.astype(np.float64) if each.dtype.kind == "f" else each for name, each in call.items()}
        for call in calls
    ]
    signal.signal(signal.SIGALRM, _too_long)
    signal.alarm(EVALUATION_S)
    try:
        with np.errstate(all="ignore"):
            found = [evaluator.run(None, call) for call in wide]
    finally:
        signal.alarm(0)
    narrow = {each.dtype.name for call in found for each in call if each.dtype.kind == "f" and each.itemsize < 8}
    if narrow:
        raise ValueError(f"asked for float64, it answers in {', '.join(sorted(narrow))}")
    return concatenated(found)


def _too_long(*_: _Any) -> None:
    raise TimeoutError(f"it took more than {EVALUATION_S} s")


def _widen(onnx: _Any, proto: _Any) -> None:
    def tensor(each: _Any) -> None:
        if each.data_type in _FLOATS:
            values = onnx.numpy_helper.to_array(each).astype(np.float64)
            each.CopyFrom(onnx.numpy_helper.from_array(values, each.name))

    graphs = list(_graphs(proto.graph))
    for graph in graphs:
        for each in graph.initializer:
            tensor(each)
        for value in (*graph.input, *graph.output):
            if value.type.tensor_type.elem_type in _FLOATS:
                value.type.tensor_type.elem_type = _DOUBLE
        del graph.value_info[:]
    for node in (node for part in (*graphs, *proto.functions) for node in part.node):
        if node.op_type == "ConstantOfShape" and not node.attribute:
            zero = onnx.numpy_helper.from_array(np.zeros(1, np.float64))
            node.attribute.append(onnx.helper.make_attribute("value", zero))
        for attribute in node.attribute:
            if attribute.name in {"to", "dtype", "stash_type"} and attribute.i in _FLOATS:
                attribute.i = _DOUBLE
            if attribute.HasField("t"):
                tensor(attribute.t)


def _operations(onnx: _Any, proto: _Any, shapes: _Shapes) -> int:
    """Count what one call takes; raises ValueError where that is not known beforehand."""
    inferred = onnx.shape_inference.infer_shapes(proto, data_prop=True).graph
    sides = shapes | {each.name: tuple(each.dims) for each in proto.graph.initializer}
    for value in (*inferred.input, *inferred.output, *inferred.value_info):
        if value.type.tensor_type.HasField("shape"):
            dims = value.type.tensor_type.shape.dim
            if all(dim.HasField("dim_value") for dim in dims):
                sides[value.name] = tuple(dim.dim_value for dim in dims)
    total = 0
    for node in proto.graph.node:
        if node.op_type in _LOOPS:
            raise ValueError("how often it loops is not known")
        unknown = [name for name in (*node.input[:2], *node.output[:1]) if name and name not in sides]
        if unknown and node.op_type not in {"Constant", "If"}:
            raise ValueError(f"how large {unknown[0]} is is not known")
        total += _of_node(node, sides)
    return total


def _of_node(node: _Any, sides: _Shapes) -> int:
    size = math.prod(sides.get(node.output[0], ()))
    if node.op_type in {"MatMul", "Gemm"}:
        return math.prod(sides[node.input[0]]) * max(1, size // max(1, math.prod(sides[node.output[0]][:-1])))
    if node.op_type in {"Conv", "ConvTranspose", "ConvInteger"}:
        weight = sides[node.input[1]]
        outside = size if node.op_type != "ConvTranspose" else math.prod(sides[node.input[0]])
        return outside * math.prod(weight[1:])
    if node.op_type in {"LSTM", "GRU", "RNN"}:
        return math.prod(sides[node.input[0]][:2]) * math.prod(sides[node.input[1]]) * 8
    return size * (_SLOWNESS if node.op_type in _SLOW else 1)
