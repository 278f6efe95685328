"""What OpenVINO counts of its layers, summed."""

from suite.backends.profiling import openvino
from suite.backends.profiling.openvino import Layer
from suite.backends.profiling.operators import Operator


def test_openvino_s_layers_are_summed_by_kind_and_kernel() -> None:
    one_call = [Layer("FullyConnected", "node_linear", "brgemm_avx512_f32", 32), Layer("MaxPool", "pool", "jit", 7)]
    slower = [Layer("FullyConnected", "node_linear", "brgemm_avx512_f32", 36), Layer("MaxPool", "pool", "jit", 9)]
    found = openvino.summed([*one_call, *slower, *one_call], 3)
    assert found == (
        Operator("FullyConnected", "node_linear (brgemm_avx512_f32)", 3, 32_000.0),
        Operator("MaxPool", "pool (jit)", 3, 7_000.0),
    )
