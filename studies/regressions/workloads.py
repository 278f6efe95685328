"""The small ONNX models that the pairs are measured on: operators that public trackers name, with their shapes.

Weights and inputs come from Philox's raw bits, as everywhere in this project, so that a file's SHA-256 is the same
on every machine and under every version of NumPy.
"""

import struct
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType

import msgspec
import numpy as np
import numpy.typing as npt

from levelfield.backends.protobuf import FIXED32, number, text, varint
from levelfield.zoo.bits import symmetric

Array = npt.NDArray[np.generic]
Attribute = int | float | str | list[int] | list[float] | list[str]
IR_VERSION = 8
"""Of the file format: every ONNX Runtime since 1.11 reads it."""
MAIN, CONTRIB, ML = "", "com.microsoft", "ai.onnx.ml"
"""Domains of operators."""
_ELEMENTS = {"float32": 1, "int64": 7, "float64": 11}
_ATTRIBUTES: Mapping[type, tuple[tuple[int, int], tuple[int, int]]] = {
    float: ((2, 1), (7, 6)),
    int: ((3, 2), (8, 7)),
    str: ((4, 3), (9, 8)),
}
"""Field and type of an attribute of one value, and of a list of values (`AttributeProto`)."""


def node(
    operator: str,
    inputs: Sequence[str],
    outputs: Sequence[str],
    attributes: Mapping[str, Attribute] | None = None,
    domain: str = MAIN,
) -> bytes:
    """Write one operator."""
    names = b"".join(text(1, name.encode()) for name in inputs) + b"".join(text(2, name.encode()) for name in outputs)
    written = b"".join(text(5, _attribute(name, each)) for name, each in (attributes or {}).items())
    return names + text(4, operator.encode()) + written + (text(7, domain.encode()) if domain else b"")


def model(
    nodes: Sequence[bytes],
    constants: Mapping[str, Array],
    inputs: Mapping[str, Array],
    output: tuple[str, Sequence[int]],
    opsets: Mapping[str, int],
) -> bytes:
    """Write a model with one output, whose type is the first input's."""
    graph = b"".join(text(1, each) for each in nodes) + text(2, b"graph")
    graph += b"".join(text(5, _tensor(name, values)) for name, values in constants.items())
    graph += b"".join(text(11, _value(name, each.dtype.name, each.shape)) for name, each in inputs.items())
    graph += text(12, _value(output[0], next(iter(inputs.values())).dtype.name, output[1]))
    domains = b"".join(text(8, text(1, name.encode()) + number(2, version)) for name, version in opsets.items())
    return number(1, IR_VERSION) + text(7, graph) + domains


def _tensor(name: str, values: Array) -> bytes:
    sides = b"".join(number(1, size) for size in values.shape)
    content = np.ascontiguousarray(values).astype(values.dtype.newbyteorder("<")).tobytes()
    return sides + number(2, _ELEMENTS[values.dtype.name]) + text(8, name.encode()) + text(9, content)


def _value(name: str, dtype: str, shape: Sequence[int]) -> bytes:
    sides = b"".join(text(1, number(1, size)) for size in shape)
    kind = number(1, _ELEMENTS[dtype]) + text(2, sides)
    return text(1, name.encode()) + text(2, text(1, kind))


def _attribute(name: str, given: Attribute) -> bytes:
    """Write an attribute: its name, its value or values, and its type."""
    values = given if isinstance(given, list) else [given]
    field, kind = _ATTRIBUTES[type(values[0])][isinstance(given, list)]
    return text(1, name.encode()) + b"".join(_scalar(field, each) for each in values) + number(20, kind)


def _scalar(field: int, value: float | str) -> bytes:
    if isinstance(value, str):
        return text(field, value.encode())
    if isinstance(value, int):
        return number(field, value)
    return varint(field << 3 | FIXED32) + struct.pack("<f", value)


OPSET = 17
"""Of ai.onnx, unless a workload needs another."""


class Workload(msgspec.Struct, frozen=True):
    """A model, and what it is called with."""

    model: bytes
    """Content of the ONNX file."""
    inputs: dict[str, Array]


def names() -> tuple[str, ...]:
    """Return what every workload is called."""
    return tuple(_MAKERS)


def make(name: str) -> Workload:
    """Make a workload, the same bits every time."""
    return _MAKERS[name]()


def _values(name: str, *shape: int, scale: float = 1.0) -> Array:
    """Return float32 values between -scale and scale, never zero."""
    return np.asarray(symmetric(f"regressions/{name}", shape) * np.float32(scale))


def _chain(operator: str, x: Array, *, domain: str = MAIN, opset: int = OPSET, count: int = 1) -> Workload:
    """Apply one operator to its own answer, `count` times: a call then costs much more than its way into the kernel."""
    nodes = [node(operator, [f"x{i}"], [f"x{i + 1}"], None, domain) for i in range(count)]
    opsets = {MAIN: opset} | ({domain: 1} if domain else {})
    return Workload(model(nodes, {}, {"x0": x}, (f"x{count}", x.shape), opsets), {"x0": x})


def _single(
    operator: str,
    inputs: Array | dict[str, Array],
    out: tuple[int, ...] | None = None,
    *,
    constants: Mapping[str, Array] | None = None,
    attributes: Mapping[str, Attribute] | None = None,
    opset: int = OPSET,
    domains: Mapping[str, int] | None = None,
) -> Workload:
    """Apply one operator once; the answer has the shape of the first input unless `out` says another.

    The operator is of the last of `domains`, which has the version of each beside the main one.
    """
    given = inputs if isinstance(inputs, dict) else {"x": inputs}
    opsets = {MAIN: opset, **(domains or {})}
    nodes = [node(operator, [*given, *(constants or {})], ["y"], attributes, list(opsets)[-1])]
    return Workload(model(nodes, constants or {}, given, ("y", out or next(iter(given.values())).shape), opsets), given)


def _recurrent(operator: str, name: str, *, gates: int, count: int, width: int, steps: int) -> Workload:
    """Recurrent layers one on the other; those after the first see the last state of the one before, one step long."""
    nodes: list[bytes] = []
    constants: dict[str, Array] = {}
    for i in range(count):
        shapes = {"w": (1, gates * width, width), "r": (1, gates * width, width), "b": (1, 2 * gates * width)}
        constants |= {f"{key}{i}": _values(f"{name}/{key}{i}", *size, scale=0.1) for key, size in shapes.items()}
        nodes.append(node(operator, [f"x{i}", f"w{i}", f"r{i}", f"b{i}"], ["", f"x{i + 1}"], {"hidden_size": width}))
    x = _values(f"{name}/x", steps, 1, width)
    return Workload(model(nodes, constants, {"x0": x}, (f"x{count}", (1, 1, width)), {MAIN: 14}), {"x0": x})


def _grid_sample(size: int) -> Workload:
    x, grid = _values("grid-sample/x", 2, 3, size, size), _values("grid-sample/grid", 2, size, size, 2)
    attributes: Mapping[str, Attribute] = {"mode": "bilinear", "padding_mode": "zeros", "align_corners": 0}
    return _single("GridSample", {"x": x, "grid": grid}, attributes=attributes, opset=16)


def _trees(trees: int, depth: int, rows: int, features: int) -> Workload:
    """Full binary trees, whose leaves are summed."""
    inner, total = 2**depth - 1, 2 ** (depth + 1) - 1
    values = _values(f"trees/{trees}/{depth}/{features}", trees, total).reshape(-1)
    nodes = [(i // total, i % total, i % total >= inner, i) for i in range(trees * total)]
    leaves = [(tree, number, float(values[i])) for tree, number, leaf, i in nodes if leaf]
    attributes: dict[str, Attribute] = {
        "aggregate_function": "SUM",
        "n_targets": 1,
        "post_transform": "NONE",
        "nodes_treeids": [tree for tree, _, _, _ in nodes],
        "nodes_nodeids": [number for _, number, _, _ in nodes],
        "nodes_modes": ["LEAF" if leaf else "BRANCH_LEQ" for _, _, leaf, _ in nodes],
        "nodes_featureids": [0 if leaf else (i * 7) % features for _, _, leaf, i in nodes],
        "nodes_values": [0.0 if leaf else float(values[i]) for _, _, leaf, i in nodes],
        "nodes_truenodeids": [0 if leaf else 2 * number + 1 for _, number, leaf, _ in nodes],
        "nodes_falsenodeids": [0 if leaf else 2 * number + 2 for _, number, leaf, _ in nodes],
        "target_treeids": [tree for tree, _, _ in leaves],
        "target_nodeids": [number for _, number, _ in leaves],
        "target_ids": [0] * len(leaves),
        "target_weights": [weight for _, _, weight in leaves],
    }
    x = _values(f"trees/x/{rows}/{features}", rows, features)
    return _single("TreeEnsembleRegressor", x, (rows, 1), attributes=attributes, domains={ML: 3})


def _resized(operator: str, shape: tuple[int, int, int, int], sides: tuple[float, float], mode: str) -> Workload:
    x = _values(f"resize/{shape}", *shape)
    scales = np.array([1.0, 1.0, *sides], dtype=np.float32)
    out = (shape[0], shape[1], int(shape[2] * sides[0]), int(shape[3] * sides[1]))
    if operator == "Upsample":
        return _single(operator, x, out, constants={"scales": scales}, attributes={"mode": mode}, opset=9)
    constants = {"roi": np.empty(0, dtype=np.float32), "scales": scales}
    return _single(operator, x, out, constants=constants, attributes={"mode": mode}, opset=13)


def _conv(channels: int, out: int, groups: int, side: int, kernel: int) -> Workload:
    name = f"conv/{channels}/{out}/{groups}/{kernel}"
    weights = _values(f"{name}/w", out, channels // groups, kernel, kernel, scale=0.1)
    attributes: Mapping[str, Attribute] = {"kernel_shape": [kernel, kernel], "pads": [kernel // 2] * 4, "group": groups}
    x = _values(f"{name}/x", 1, channels, side, side)
    return _single("Conv", x, (1, out, side, side), constants={"w": weights}, attributes=attributes)


def _matmul(rows: int, width: int, out: int) -> Workload:
    weights = _values(f"matmul/{width}/{out}", width, out, scale=0.05)
    return _single("MatMul", _values(f"matmul/x/{rows}/{width}", rows, width), (rows, out), constants={"w": weights})


def _layer_norm(rows: int, width: int) -> Workload:
    constants = {name: _values(f"layer-norm/{name}", width) for name in ("scale", "bias")}
    x = _values(f"layer-norm/{rows}/{width}", rows, width)
    return _single("LayerNormalization", x, constants=constants, attributes={"axis": -1})


def _skip_layer_norm(rows: int, width: int) -> Workload:
    inputs = {name: _values(f"skip-layer-norm/{name}", 1, rows, width) for name in ("x", "skip")}
    constants = {name: _values(f"skip-layer-norm/{name}", width) for name in ("gamma", "beta")}
    return _single(
        "SkipLayerNormalization", inputs, constants=constants, attributes={"epsilon": 1e-5}, domains={CONTRIB: 1}
    )


def _silu(*shape: int) -> Workload:
    x = _values("silu", *shape)
    nodes = [node("Sigmoid", ["x"], ["s"]), node("Mul", ["x", "s"], ["y"])]
    return Workload(model(nodes, {}, {"x": x}, ("y", shape), {MAIN: OPSET}), {"x": x})


def _over_features(operator: str, name: str) -> Workload:
    return _single(operator, _values(name, *_FEATURES), attributes={"axis": 1}, opset=13)


def _reduce_l1() -> Workload:
    attributes: Mapping[str, Attribute] = {"axes": [0], "keepdims": 1}
    return _single("ReduceL1", _values("reduce-l1", *_FEATURES), (1, 64, 56, 56), attributes=attributes, opset=13)


def _max_pool() -> Workload:
    attributes: Mapping[str, Attribute] = {"kernel_shape": [3, 3], "strides": [2, 2], "pads": [1, 1, 1, 1]}
    return _single("MaxPool", _values("max-pool", 1, 64, 112, 112), (1, 64, 56, 56), attributes=attributes)


_FEATURES = (2, 64, 56, 56)
"""Shape of the feature maps in many of the reports."""
_MAKERS: Mapping[str, Callable[[], Workload]] = MappingProxyType(
    {
        "gru-step": lambda: _recurrent("GRU", "gru-step", gates=3, count=16, width=64, steps=1),
        "gru-sequence": lambda: _recurrent("GRU", "gru-sequence", gates=3, count=1, width=128, steps=50),
        "lstm-sequence": lambda: _recurrent("LSTM", "lstm-sequence", gates=4, count=1, width=128, steps=50),
        "grid-sample": lambda: _grid_sample(56),
        "grid-sample-large": lambda: _grid_sample(224),
        "tree-ensemble": lambda: _trees(1, 3, 1000, 1),
        "tree-ensemble-large": lambda: _trees(100, 6, 1000, 10),
        "selu": lambda: _chain("Selu", _values("selu", 2, 64, 28, 28, scale=3.0), opset=6),
        "celu": lambda: _chain("Celu", _values("celu", 80000, scale=3.0), opset=12),
        "elu": lambda: _chain("Elu", _values("elu", 2, 64, 28, 28, scale=3.0), opset=6),
        "softplus": lambda: _chain("Softplus", _values("softplus", 1024, scale=9.0), opset=1, count=8),
        "sigmoid-float64": lambda: _chain("Sigmoid", _values("sigmoid64", *_FEATURES).astype(np.float64)),
        "sign-int64": lambda: _single("Sign", _values("sign", 64, 64, 64, scale=100.0).astype(np.int64)),
        "reduce-l1": _reduce_l1,
        "hardmax": lambda: _over_features("Hardmax", "hardmax"),
        "log-softmax": lambda: _over_features("LogSoftmax", "log-softmax"),
        "upsample": lambda: _resized("Upsample", (2, 64, 28, 28), (2.0, 2.0), "nearest"),
        "upsample-uneven": lambda: _resized("Upsample", (1, 3, 224, 224), (1.5, 2.0), "nearest"),
        "resize-nearest": lambda: _resized("Resize", (1, 16, 64, 64), (2.0, 2.0), "nearest"),
        "resize-linear": lambda: _resized("Resize", (1, 16, 64, 64), (2.0, 2.0), "linear"),
        "gelu": lambda: _chain("Gelu", _values("gelu", 128, 3072), domain=CONTRIB),
        "silu": lambda: _silu(128, 3072),
        "erf": lambda: _chain("Erf", _values("erf", 128, 3072)),
        "skip-layer-norm": lambda: _skip_layer_norm(128, 768),
        "layer-norm": lambda: _layer_norm(128, 768),
        "conv-depthwise-pairs": lambda: _conv(64, 128, 64, 64, 7),
        "conv-3x3": lambda: _conv(64, 64, 1, 56, 3),
        "conv-1x1": lambda: _conv(256, 64, 1, 56, 1),
        "conv-depthwise": lambda: _conv(96, 96, 96, 56, 3),
        "matmul": lambda: _matmul(128, 768, 768),
        "matvec": lambda: _matmul(1, 768, 3072),
        "transpose": lambda: _single(
            "Transpose", _values("transpose", 1, 128, 12, 64), (1, 12, 128, 64), attributes={"perm": [0, 2, 1, 3]}
        ),
        "tanh": lambda: _chain("Tanh", _values("tanh", 128, 3072)),
        "max-pool": _max_pool,
        "exp": lambda: _chain("Exp", _values("exp", 128, 768)),
    }
)
