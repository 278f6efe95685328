"""The small ONNX models that the pairs are measured on: operators that public trackers name, with their shapes.

Weights and inputs come from Philox's raw bits, as everywhere in this project, so that a file's SHA-256 is the same
on every machine and under every version of NumPy.
"""

from collections.abc import Callable, Mapping
from types import MappingProxyType

import msgspec
import numpy as np

from suite.trials.regressions.onnx_writer import CONTRIB, MAIN, ML, Array, Attribute, model, node, tensor, value
from suite.zoo.bits import symmetric

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
    """Make a workload, the same bits every time.

    Parameters
    ----------
    name : str
        One of `names`.

    Raises
    ------
    KeyError
        There is none of this name.
    """
    return _MAKERS[name]()


def _values(name: str, *shape: int, scale: float = 1.0) -> Array:
    """Return float32 values between -scale and scale, never zero."""
    return np.asarray(symmetric(f"regressions/{name}", shape) * np.float32(scale))


def _chain(
    operator: str,
    x: Array,
    *,
    attributes: Mapping[str, Attribute] | None = None,
    domain: str = MAIN,
    opset: int = OPSET,
    count: int = 1,
) -> Workload:
    """Apply one operator to its own answer, `count` times: a call then costs much more than its way into the kernel."""
    shape, dtype = x.shape, x.dtype.name
    nodes = [node(operator, [f"x{i}"], [f"x{i + 1}"], attributes, domain) for i in range(count)]
    opsets = {MAIN: opset} | ({domain: 1} if domain else {})
    content = model(nodes, [], [value("x0", dtype, shape)], [value(f"x{count}", dtype, shape)], opsets)
    return Workload(content, {"x0": x})


def _single(
    operator: str,
    x: Array,
    out: tuple[int, ...],
    *,
    others: Mapping[str, Array] | None = None,
    attributes: Mapping[str, Attribute] | None = None,
    opset: int = OPSET,
) -> Workload:
    """One operator on one input; the others are constants."""
    constants = others or {}
    return Workload(
        model(
            [node(operator, ["x", *constants], ["y"], attributes)],
            [tensor(name, each) for name, each in constants.items()],
            [value("x", x.dtype.name, x.shape)],
            [value("y", x.dtype.name, out)],
            {MAIN: opset},
        ),
        {"x": x},
    )


def _gru_steps(name: str, operator: str, gates: int, *, count: int, width: int, steps: int) -> Workload:
    """Recurrent layers one on the other; those after the first see the last state of the one before, one step long."""
    nodes, constants = [], []
    for i in range(count):
        shapes = {"w": (1, gates * width, width), "r": (1, gates * width, width), "b": (1, 2 * gates * width)}
        constants += [
            tensor(f"{key}{i}", _values(f"{name}/{key}{i}", *size, scale=0.1)) for key, size in shapes.items()
        ]
        outputs = ["", f"x{i + 1}"]
        nodes.append(node(operator, [f"x{i}", f"w{i}", f"r{i}", f"b{i}"], outputs, {"hidden_size": width}))
    x = _values(f"{name}/x", steps, 1, width)
    given, found = value("x0", "float32", x.shape), value(f"x{count}", "float32", (1, 1, width))
    return Workload(model(nodes, constants, [given], [found], {MAIN: 14}), {"x0": x})


def _grid_sample(size: int) -> Workload:
    x, grid = _values("grid-sample/x", 2, 3, size, size), _values("grid-sample/grid", 2, size, size, 2)
    attributes: Mapping[str, Attribute] = {"mode": "bilinear", "padding_mode": "zeros", "align_corners": 0}
    return Workload(
        model(
            [node("GridSample", ["x", "grid"], ["y"], attributes)],
            [],
            [value("x", "float32", x.shape), value("grid", "float32", grid.shape)],
            [value("y", "float32", x.shape)],
            {MAIN: 16},
        ),
        {"x": x, "grid": grid},
    )


def _trees(trees: int, depth: int, rows: int, features: int) -> Workload:
    """Full binary trees, whose leaves are summed."""
    inner, total = 2**depth - 1, 2 ** (depth + 1) - 1
    tree_ids = [tree for tree in range(trees) for _ in range(total)]
    node_ids = [place for _ in range(trees) for place in range(total)]
    draws = _values(f"trees/{trees}/{depth}/{features}", trees, total)
    leaf = [place >= inner for place in node_ids]
    flat = [float(each) for each in draws.reshape(-1)]
    at_leaves = [
        (tree, place, flat[i]) for i, (tree, place) in enumerate(zip(tree_ids, node_ids, strict=True)) if leaf[i]
    ]
    attributes: dict[str, Attribute] = {
        "aggregate_function": "SUM",
        "n_targets": 1,
        "post_transform": "NONE",
        "nodes_treeids": tree_ids,
        "nodes_nodeids": node_ids,
        "nodes_modes": ["LEAF" if each else "BRANCH_LEQ" for each in leaf],
        "nodes_featureids": [0 if each else (i * 7) % features for i, each in enumerate(leaf)],
        "nodes_values": [0.0 if each else flat[i] for i, each in enumerate(leaf)],
        "nodes_truenodeids": [0 if each else 2 * place + 1 for place, each in zip(node_ids, leaf, strict=True)],
        "nodes_falsenodeids": [0 if each else 2 * place + 2 for place, each in zip(node_ids, leaf, strict=True)],
        "target_treeids": [tree for tree, _, _ in at_leaves],
        "target_nodeids": [place for _, place, _ in at_leaves],
        "target_ids": [0] * len(at_leaves),
        "target_weights": [weight for _, _, weight in at_leaves],
    }
    x = _values(f"trees/x/{rows}/{features}", rows, features)
    return Workload(
        model(
            [node("TreeEnsembleRegressor", ["x"], ["y"], attributes, ML)],
            [],
            [value("x", "float32", x.shape)],
            [value("y", "float32", (rows, 1))],
            {MAIN: OPSET, ML: 3},
        ),
        {"x": x},
    )


def _resized(operator: str, shape: tuple[int, int, int, int], sides: tuple[float, float], mode: str) -> Workload:
    x = _values(f"resize/{shape}", *shape)
    scales = np.array([1.0, 1.0, *sides], dtype=np.float32)
    out = (shape[0], shape[1], int(shape[2] * sides[0]), int(shape[3] * sides[1]))
    if operator == "Upsample":
        return _single(operator, x, out, others={"scales": scales}, attributes={"mode": mode}, opset=9)
    constants = {"roi": np.empty(0, dtype=np.float32), "scales": scales}
    return _single(operator, x, out, others=constants, attributes={"mode": mode}, opset=13)


def _conv(channels: int, out: int, groups: int, side: int, kernel: int) -> Workload:
    name = f"conv/{channels}/{out}/{groups}/{kernel}"
    weights = _values(f"{name}/w", out, channels // groups, kernel, kernel, scale=0.1)
    pad = kernel // 2
    attributes: Mapping[str, Attribute] = {"kernel_shape": [kernel, kernel], "pads": [pad] * 4, "group": groups}
    x = _values(f"{name}/x", 1, channels, side, side)
    return _single("Conv", x, (1, out, side, side), others={"w": weights}, attributes=attributes)


def _matmul(rows: int, width: int, out: int) -> Workload:
    weights = _values(f"matmul/{width}/{out}", width, out, scale=0.05)
    return _single("MatMul", _values(f"matmul/x/{rows}/{width}", rows, width), (rows, out), others={"w": weights})


def _layer_norm(rows: int, width: int) -> Workload:
    constants = {"scale": _values("layer-norm/scale", width), "bias": _values("layer-norm/bias", width)}
    x = _values(f"layer-norm/{rows}/{width}", rows, width)
    return _single("LayerNormalization", x, x.shape, others=constants, attributes={"axis": -1})


def _skip_layer_norm(rows: int, width: int) -> Workload:
    x, skip = _values("skip-layer-norm/x", 1, rows, width), _values("skip-layer-norm/skip", 1, rows, width)
    constants = {name: _values(f"skip-layer-norm/{name}", width) for name in ("gamma", "beta")}
    return Workload(
        model(
            [node("SkipLayerNormalization", ["x", "skip", *constants], ["y"], {"epsilon": 1e-5}, CONTRIB)],
            [tensor(name, each) for name, each in constants.items()],
            [value("x", "float32", x.shape), value("skip", "float32", skip.shape)],
            [value("y", "float32", x.shape)],
            {MAIN: OPSET, CONTRIB: 1},
        ),
        {"x": x, "skip": skip},
    )


def _silu(*shape: int) -> Workload:
    x = _values("silu", *shape)
    nodes = [node("Sigmoid", ["x"], ["s"]), node("Mul", ["x", "s"], ["y"])]
    sides = value("x", "float32", shape), value("y", "float32", shape)
    return Workload(model(nodes, [], [sides[0]], [sides[1]], {MAIN: OPSET}), {"x": x})


def _sign() -> Workload:
    x = np.asarray(_values("sign", 64, 64, 64, scale=100.0)).astype(np.int64)
    return _single("Sign", x, x.shape)


_FEATURES = (2, 64, 56, 56)
"""Shape of the feature maps in many of the reports."""
_MAKERS: Mapping[str, Callable[[], Workload]] = MappingProxyType(
    {
        "gru-step": lambda: _gru_steps("gru-step", "GRU", 3, count=16, width=64, steps=1),
        "gru-sequence": lambda: _gru_steps("gru-sequence", "GRU", 3, count=1, width=128, steps=50),
        "lstm-sequence": lambda: _gru_steps("lstm-sequence", "LSTM", 4, count=1, width=128, steps=50),
        "grid-sample": lambda: _grid_sample(56),
        "grid-sample-large": lambda: _grid_sample(224),
        "tree-ensemble": lambda: _trees(1, 3, 1000, 1),
        "tree-ensemble-large": lambda: _trees(100, 6, 1000, 10),
        "selu": lambda: _chain("Selu", _values("selu", 2, 64, 28, 28, scale=3.0), opset=6),
        "celu": lambda: _chain("Celu", _values("celu", 80000, scale=3.0), opset=12),
        "elu": lambda: _chain("Elu", _values("elu", 2, 64, 28, 28, scale=3.0), opset=6),
        "softplus": lambda: _chain("Softplus", _values("softplus", 1024, scale=9.0), opset=1, count=8),
        "sigmoid-float64": lambda: _chain("Sigmoid", _values("sigmoid64", *_FEATURES).astype(np.float64)),
        "sign-int64": _sign,
        "reduce-l1": lambda: _single(
            "ReduceL1",
            _values("reduce-l1", *_FEATURES),
            (1, 64, 56, 56),
            attributes={"axes": [0], "keepdims": 1},
            opset=13,
        ),
        "hardmax": lambda: _single(
            "Hardmax", _values("hardmax", *_FEATURES), _FEATURES, attributes={"axis": 1}, opset=13
        ),
        "log-softmax": lambda: _single(
            "LogSoftmax", _values("log-softmax", *_FEATURES), _FEATURES, attributes={"axis": 1}, opset=13
        ),
        "upsample": lambda: _resized("Upsample", (2, 64, 28, 28), (2.0, 2.0), "nearest"),
        "upsample-uneven": lambda: _resized("Upsample", (1, 3, 224, 224), (1.5, 2.0), "nearest"),
        "resize-nearest": lambda: _resized("Resize", (1, 16, 64, 64), (2.0, 2.0), "nearest"),
        "resize-linear": lambda: _resized("Resize", (1, 16, 64, 64), (2.0, 2.0), "linear"),
        "resize-cubic": lambda: _resized("Resize", (1, 3, 64, 64), (2.0, 2.0), "cubic"),
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
        "softmax": lambda: _single(
            "Softmax", _values("softmax", 12, 128, 128), (12, 128, 128), attributes={"axis": -1}
        ),
        "transpose": lambda: _single(
            "Transpose", _values("transpose", 1, 128, 12, 64), (1, 12, 128, 64), attributes={"perm": [0, 2, 1, 3]}
        ),
        "tanh": lambda: _chain("Tanh", _values("tanh", 128, 3072)),
        "max-pool": lambda: _single(
            "MaxPool",
            _values("max-pool", 1, 64, 112, 112),
            (1, 64, 56, 56),
            attributes={"kernel_shape": [3, 3], "strides": [2, 2], "pads": [1, 1, 1, 1]},
        ),
        "exp": lambda: _chain("Exp", _values("exp", 128, 768)),
    }
)
