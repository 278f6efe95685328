"""The same networks counted by others: by torch, from what it runs, and from the ONNX files that engines are given."""

import math
from typing import Any

import pytest

from levelfield.zoo import flops, inputs, models, weights
from tests.zoo.exported import BATCH, Exports

torch = pytest.importorskip("torch", reason="torch is not installed here")
onnx = pytest.importorskip("onnx", reason="onnx is not installed here")
pytest.importorskip("onnxscript", reason="onnxscript is not installed here")

pytestmark = [pytest.mark.framework, pytest.mark.filterwarnings("ignore")]


@pytest.mark.parametrize("name", models.names())
def test_torch_counts_the_same(name: str) -> None:
    from torch.nn.attention import SDPBackend, sdpa_kernel
    from torch.utils.flop_counter import FlopCounterMode

    from levelfield.zoo import torch_module

    model = models.get(name)
    module = torch_module.load(model, weights.make(model))
    batch = inputs.make(model, 0, BATCH)
    # It counts the plain way of attention, and not what the CPU's fused one does.
    with sdpa_kernel(SDPBackend.MATH), FlopCounterMode(display=False) as counter, torch.no_grad():
        module(*(torch.from_numpy(batch[tensor.name]) for tensor in model.inputs))
    assert counter.get_total_flops() == 2 * flops.count(model, BATCH).macs


@pytest.mark.parametrize(
    "name",
    [
        name if name in {"mlp", "resnet50"} else pytest.param(name, marks=pytest.mark.extended)
        for name in models.names()
    ],
)
def test_the_onnx_file_holds_as_much(name: str, exports: Exports) -> None:
    folder, _ = exports(name)
    proto = onnx.shape_inference.infer_shapes(onnx.load(folder / "model.onnx", load_external_data=False))
    assert _macs(proto.graph) == flops.count(models.get(name), BATCH).macs


def _macs(graph: Any) -> int:
    shapes = {tensor.name: tuple(tensor.dims) for tensor in graph.initializer}
    for value in (*graph.input, *graph.value_info, *graph.output):
        shapes[value.name] = tuple(size.dim_value for size in value.type.tensor_type.shape.dim)
    total = 0
    for node in graph.node:
        if node.op_type == "Conv":  # every output element is a product with one kernel
            total += math.prod(shapes[node.output[0]]) * math.prod(shapes[node.input[1]][1:])
        elif node.op_type == "MatMul":
            total += math.prod(shapes[node.output[0]]) * shapes[node.input[0]][-1]
        elif node.op_type == "Gemm":
            transposed = any(each.name == "transA" and each.i for each in node.attribute)
            total += math.prod(shapes[node.output[0]]) * shapes[node.input[0]][0 if transposed else 1]
        else:
            assert node.op_type not in {"Einsum", "ConvTranspose", "MatMulInteger", "Attention"}, node.op_type
    return total
