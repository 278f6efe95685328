"""ONNX files, exported from PyTorch: the same bytes wherever and whenever they are made with the same versions."""

import hashlib
import importlib.metadata
import tempfile
import warnings
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

import msgspec
import numpy as np

from levelfield.zoo import inputs
from levelfield.zoo.decoding import INPUT, POSITIONS, renewed
from levelfield.zoo.native import definition
from levelfield.zoo.spec import Decoding, Model, is_table
from levelfield.zoo.weights import Arrays

OPSET = 20
MODEL_FILE = "model.onnx"
DATA_FILE = "model.onnx.data"

PRECISIONS = ("fp32", "fp16", "int8")
CACHED = "fp32-cached"
"""Form of a file with a KV cache among its inputs and outputs (`zoo.decoding`): fp32, any number of tokens."""
GROWN = "fp32-grown"
"""The same with a cache of any length, to which the tokens' keys and values are concatenated."""
_DECODING = MappingProxyType({CACHED: "Cached", GROWN: "Grown"})
"""Module that is exported, by form."""
_EXPORTERS = ("torch", "onnx", "onnxscript", "onnx-ir")
_MADE_BY = MappingProxyType(
    {"int8": (*_EXPORTERS, "onnxruntime")} | dict.fromkeys(("fp32", "fp16", *_DECODING), _EXPORTERS)
)
"""Distributions that decide the bytes."""

_EXTERNAL_BYTES = 256_000_000
"""Weights larger than this go into a file of their own; protobuf itself ends at 2 GiB."""


class Exported(msgspec.Struct, frozen=True):
    """What was written."""

    files: dict[str, str]
    """File name to SHA-256: the model's, and that of a file of weights beside it where there is one."""
    versions: dict[str, str]
    """Distributions that decide the bytes."""
    opset: int = 0
    """Of ONNX; 0: the format has none."""


def written(folder: Path, names: Iterable[str], distributions: Iterable[str], opset: int = 0) -> Exported:
    """Describe files that were written, with the installed versions of the distributions that decide the bytes."""
    return Exported(
        files={name: _sha256(folder / name) for name in names},
        versions={name: importlib.metadata.version(name) for name in distributions},
        opset=opset,
    )


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def export(model: Model, weights: Arrays, batch: int, precision: str, folder: Path) -> Exported:
    """Export a model for a fixed batch; raises ValueError where the precision cannot be exported.

    `folder`: where to write `model.onnx`, and `model.onnx.data` for large models; it must exist.
    """
    if precision in _DECODING and model.decoding is None:
        raise ValueError(f"{model.title} does not answer token by token.")
    if precision not in (*PRECISIONS, *_DECODING):
        raise ValueError(f"ONNX files are exported in {', '.join(PRECISIONS)} here, not in {precision}.")
    import torch

    from levelfield.zoo import torch_module

    module = torch_module.load(model, weights)
    if precision == "fp16":
        module = torch_module.Lowered(module, torch.float16).eval()
    if model.decoding is not None and precision in _DECODING:
        module = getattr(definition(model, "torch"), _DECODING[precision])(module).eval()
        wanted = _cached_arguments(model, model.decoding, batch, growing=precision == GROWN)
    else:
        example = inputs.make(model, 0, batch)
        given = {name: torch.from_numpy(np.ascontiguousarray(array)) for name, array in example.items()}
        wanted = _Arguments({tensor.name: given[tensor.name] for tensor in model.inputs}, (model.output.name,))

    def quantised(raw: Path) -> Path:
        from levelfield.zoo.onnx_quantize import quantise

        quantise(model, raw, raw.with_name("quantised.onnx"), batch)
        return raw.with_name("quantised.onnx")

    return _written(
        module,
        wanted,
        folder,
        name=model.name,
        external=_size_bytes(model, precision) > _EXTERNAL_BYTES,
        made_by=_MADE_BY[precision],
        rewrite=quantised if precision == "int8" else None,
    )


def export_module(module: Any, given: dict[str, Any], folder: Path) -> Exported:  # noqa: ANN401  (a module of torch's)
    """Export a module of a user's own, for inputs of these shapes.

    `given`: tensors by name, in the order in which the module takes them. Raises ValueError: it keeps no input of the
    name; and whatever torch's exporter raises.
    """
    size_bytes = sum(each.numel() * each.element_size() for each in (*module.parameters(), *module.buffers()))
    external = size_bytes > _EXTERNAL_BYTES
    return _written(module, _Arguments(given), folder, name="network", external=external, made_by=_EXPORTERS)


def _written(
    module: Any,  # noqa: ANN401  (a module of torch's)
    wanted: "_Arguments",
    folder: Path,
    *,
    name: str,
    external: bool,
    made_by: Sequence[str],
    rewrite: Callable[[Path], Path] | None = None,
) -> Exported:
    """Export a module and write the file, without what depends on the machine.

    `external`: whether weights lie in a file of their own. `rewrite`: makes another file of that which torch wrote.
    """
    import onnx
    import torch

    with tempfile.TemporaryDirectory(prefix="levelfield-export-") as temporary, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the exporter deprecates its own internals
        raw = Path(temporary) / MODEL_FILE
        torch.onnx.export(
            module,
            tuple(wanted.inputs.values()),
            raw,
            input_names=list(wanted.inputs),
            output_names=list(wanted.outputs) or None,
            dynamic_shapes=wanted.dynamic_shapes,
            opset_version=OPSET,
            dynamo=True,
            external_data=True,
            verbose=False,
        )
        proto = onnx.load(raw if rewrite is None else rewrite(raw))
    _strip(proto, name)
    (folder / DATA_FILE).unlink(missing_ok=True)  # onnx appends to a data file that is already there
    onnx.save_model(
        proto,
        folder / MODEL_FILE,
        save_as_external_data=external,
        all_tensors_to_one_file=True,
        location=DATA_FILE,
        size_threshold=1024,
    )
    names = [MODEL_FILE, DATA_FILE] if external else [MODEL_FILE]
    onnx.checker.check_model(folder / MODEL_FILE)
    opset = next(entry.version for entry in proto.opset_import if entry.domain == "")
    return written(folder, names, made_by, opset)


class _Arguments(msgspec.Struct, frozen=True):
    """What a module is exported with."""

    inputs: dict[str, Any]
    """Tensors by name, in the order in which the module takes them."""
    outputs: tuple[str, ...] = ()
    """Empty: torch names them."""
    dynamic_shapes: Any = None
    """Dimensions that stay open, as torch takes them; None: there are none."""


def _cached_arguments(model: Model, decoding: Decoding, batch: int, *, growing: bool) -> _Arguments:
    """Return tokens, their positions and caches; how many tokens there are stays open, and in caches that grow, too."""
    import torch

    tokens = torch.export.Dim("tokens", min=1, max=decoding.context)
    example = 2  # a dimension of one would be taken as fixed
    axis, shapes = decoding.token_axis, decoding.empty_shapes(batch, growing=growing)
    open_in_cache: dict[int, Any] = {}
    if growing:
        shapes = {name: (*shape[:axis], example, *shape[axis + 1 :]) for name, shape in shapes.items()}
        open_in_cache = {axis: torch.export.Dim("before", min=0, max=decoding.context)}
    caches = {name: torch.zeros(shape) for name, shape in shapes.items()}
    return _Arguments(
        inputs={
            INPUT: torch.zeros(batch, example, dtype=torch.int32),
            POSITIONS: torch.arange(example),
            **caches,
        },
        outputs=(model.output.name, *map(renewed, caches)),
        dynamic_shapes=({1: tokens}, {0: tokens}, tuple(open_in_cache for _ in caches)),
    )


def _size_bytes(model: Model, precision: str) -> int:
    """Return about how large a file is: in int8 matrices and kernels have a byte a weight, embeddings four."""
    width = {"fp16": 2, "int8": 1}.get(precision, 4)
    return sum(
        parameter.count * (4 if is_table(parameter.name) and precision == "int8" else width)
        for parameter in model.parameters
    )


def _strip(proto: Any, name: str) -> None:  # noqa: ANN401 (a protobuf message has no type here)
    """Remove what depends on the machine: source paths, stack traces and names of Python objects."""
    graph = proto.graph
    graph.name = name
    functions = [part for function in proto.functions for part in (function, *function.node)]
    tensors = (*graph.input, *graph.output, *graph.value_info, *graph.initializer)
    for part in (proto, graph, *graph.node, *tensors, *functions):
        part.doc_string = ""
        del part.metadata_props[:]
