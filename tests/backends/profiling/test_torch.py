"""Traces that torch's profiler wrote: the figures are those that torch prints."""

import pytest

from levelfield.backends.profiling import torch
from tests.backends.profiling.recorded import CALLS, by_kind, trace


def test_torch_counts_as_its_own_table() -> None:
    found = by_kind(list(torch.spans(trace("torch-mlp.json"))))
    # `key_averages().table()` of the same five calls: "Self CPU time total: 532.448us".
    assert sum(self_us for _, self_us in found.values()) == pytest.approx(532.448, abs=0.01)
    for kind, executions, self_us in (
        ("aten::addmm", 30, 186.220),
        ("aten::transpose", 30, 47.812),
        ("aten::linear", 30, 41.687),
        ("aten::as_strided", 60, 34.777),
        ("aten::sigmoid", 5, 12.749),
    ):
        assert list(found[kind]) == pytest.approx([executions, self_us], abs=0.01)


def test_what_inductor_made_is_named_without_its_numbers() -> None:
    found = by_kind(list(torch.spans(trace("torch-compile-mlp.json"))))
    assert sum(self_us for _, self_us in found.values()) == pytest.approx(504.691, abs=0.01)
    assert found["cpp_fused_relu"][0] == 3 * CALLS
    assert list(found["cpp_fused_addmm_relu_sigmoid_t"]) == pytest.approx([CALLS, 1.062], abs=0.01)
    assert list(found["Torch-Compiled Region"]) == pytest.approx([CALLS, 108.277], abs=0.01)
    assert list(found["CompiledFxGraph"]) == pytest.approx([CALLS, 163.635], abs=0.01)
    assert not [kind for kind in found if "graph_" in kind or "##" in kind]
