"""Profiles that ONNX Runtime, OpenVINO and torch wrote, read back."""

import datetime as dt
import json
from types import SimpleNamespace
from typing import Any

import pytest

from levelfield.backends.profiling import onnxruntime, torch
from levelfield.backends.profiling.openvino import layers
from levelfield.backends.profiling.operators import Operator, operators, summed
from tests.backends.profiling.recorded import CALLS, by_kind, trace


def test_onnxruntime_s_last_calls_are_those_that_count() -> None:
    written = trace("onnxruntime-mlp.json")
    assert sum(event["name"] == "model_run" for event in json.loads(written)) == 20
    found = summed(onnxruntime.spans(written, CALLS), CALLS)
    assert [(each.kind, each.executions) for each in found] == [("FusedGemm", CALLS)] * 6
    assert {each.name for each in found} == {"fused node_linear", *(f"fused node_linear_{n}" for n in range(1, 6))}
    runs = [event["dur"] for event in json.loads(written) if event["name"] == "model_run"]
    assert 0 < sum(each.self_ns for each in found) <= 1000 * sorted(runs[-CALLS:])[CALLS // 2]


class Info(SimpleNamespace):
    """A layer after a call, as OpenVINO reports it."""

    EXECUTED = "executed"


def request(*microseconds: int) -> Any:
    names = (("FullyConnected", "node_linear", "brgemm_avx512_f32"), ("MaxPool", "pool", "jit"))
    infos = [
        Info(
            status="executed", node_type=kind, node_name=name, exec_type=kernel, real_time=dt.timedelta(microseconds=us)
        )
        for (kind, name, kernel), us in zip(names, microseconds, strict=True)
    ]
    skipped = Info(status="not run", node_type="Constant", node_name="c", exec_type="", real_time=dt.timedelta())
    return SimpleNamespace(get_profiling_info=lambda: [*infos, skipped])


def test_openvino_s_layers_are_summed_by_kind_and_kernel() -> None:
    executions = [each for call in (request(32, 7), request(36, 9), request(32, 7)) for each in layers(call)]
    assert operators(executions, 3) == (
        Operator("FullyConnected", "node_linear (brgemm_avx512_f32)", 3, 32_000.0),
        Operator("MaxPool", "pool (jit)", 3, 7_000.0),
    )


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
