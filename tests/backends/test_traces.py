"""Traces that frameworks wrote of five calls of the MLP, read back: the figures are those that they print."""

import gzip
import json
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from suite.backends.profiling import onnxruntime, openvino, torch, xplane
from suite.backends.profiling.openvino import Layer
from suite.backends.profiling.operators import Operator, Span, summed
from suite.backends.protobuf import MalformedError
from suite.backends.protocol import Unsupported

TRACES = Path(__file__).with_name("traces")
CALLS = 5


def trace(name: str) -> bytes:
    return gzip.decompress((TRACES / f"{name}.gz").read_bytes())


def by_kind(spans: list[Span]) -> dict[str, tuple[int, float]]:
    """Return executions and microseconds of all calls by kind."""
    executions: Counter[str] = Counter()
    self_us: dict[str, float] = {}
    for each in summed(spans, 1):
        executions[each.kind] += each.executions
        self_us[each.kind] = self_us.get(each.kind, 0.0) + each.self_ns / 1000
    return {kind: (count, self_us[kind]) for kind, count in executions.items()}


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


def test_torch_shows_shapes_where_it_has_no_names() -> None:
    found = summed(torch.spans(trace("torch-mlp.json")), CALLS)
    layers = [each.name for each in found if each.kind == "aten::addmm"]
    assert sorted(layers)[:2] == ["[128] × [1,200] × [200,128]", "[16] × [1,32] × [32,16]"]
    assert len(layers) == 6
    assert {each.executions for each in found if each.kind == "aten::addmm"} == {CALLS}


def test_what_inductor_made_is_named_without_its_numbers() -> None:
    found = by_kind(list(torch.spans(trace("torch-compile-mlp.json"))))
    assert sum(self_us for _, self_us in found.values()) == pytest.approx(504.691, abs=0.01)
    assert found["cpp_fused_relu"][0] == 3 * CALLS
    assert list(found["cpp_fused_addmm_relu_sigmoid_t"]) == pytest.approx([CALLS, 1.062], abs=0.01)
    assert list(found["Torch-Compiled Region"]) == pytest.approx([CALLS, 108.277], abs=0.01)
    assert list(found["CompiledFxGraph"]) == pytest.approx([CALLS, 163.635], abs=0.01)
    assert not [kind for kind in found if "graph_" in kind or "##" in kind]


def test_onnxruntime_s_last_calls_are_those_that_count() -> None:
    written = trace("onnxruntime-mlp.json")
    assert sum(event["name"] == "model_run" for event in json.loads(written)) == 20
    found = summed(onnxruntime.spans(written, CALLS), CALLS)
    assert [(each.kind, each.executions) for each in found] == [("FusedGemm", CALLS)] * 6
    assert {each.name for each in found} == {"fused node_linear", *(f"fused node_linear_{n}" for n in range(1, 6))}
    runs = [event["dur"] for event in json.loads(written) if event["name"] == "model_run"]
    assert 0 < sum(each.self_ns for each in found) <= 1000 * sorted(runs[-CALLS:])[CALLS // 2]


def test_openvino_s_layers_are_summed_by_kind_and_kernel() -> None:
    one_call = [Layer("FullyConnected", "node_linear", "brgemm_avx512_f32", 32), Layer("MaxPool", "pool", "jit", 7)]
    slower = [Layer("FullyConnected", "node_linear", "brgemm_avx512_f32", 36), Layer("MaxPool", "pool", "jit", 9)]
    found = openvino.summed([*one_call, *slower, *one_call], 3)
    assert found == (
        Operator("FullyConnected", "node_linear (brgemm_avx512_f32)", 3, 32_000.0),
        Operator("MaxPool", "pool (jit)", 3, 7_000.0),
    )


@pytest.mark.parametrize(
    ("name", "kinds"),
    [
        ("jax-mlp", {"dot": 25, "maximum_bitcast_fusion": 20, "bitcast_bitcast_fusion": 5, "add_divide_fusion": 5}),
        (
            "tensorflow-xla-mlp",
            {"dot_add_fusion": 25, "broadcast_maximum_fusion": 20, "bitcast_dot_fusion": 5, "add_divide_fusion": 5},
        ),
        ("tensorflow-mlp", {"_MklNativeFusedMatMul": 30, "ReadVariableOp": 60}),
    ],
)
def test_xplane(name: str, kinds: dict[str, int]) -> None:
    found = by_kind(list(xplane.spans(trace(f"{name}.xplane.pb"))))
    assert {kind: executions for kind, (executions, _) in found.items()} == kinds
    assert all(self_us > 0 for _, self_us in found.values())


def test_xplane_s_picoseconds_and_names() -> None:
    found = {each.name: each for each in summed(xplane.spans(trace("jax-mlp.xplane.pb")), 1)}
    assert found["dot.6"].kind == "dot"
    assert found["dot.6"].self_ns == pytest.approx(10_444, abs=1)
    found = {each.name: each for each in summed(xplane.spans(trace("tensorflow-mlp.xplane.pb")), 1)}
    assert found["Relu_1"].kind == "_MklNativeFusedMatMul"
    assert "MatMul_1/ReadVariableOp" in found


def test_an_instruction_says_what_it_is_of(tmp_path: Path) -> None:
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "host.xplane.pb").write_bytes(trace("jax-mlp.xplane.pb"))
    text = (
        '  %bitcast_bitcast_fusion = f32[200]{0} fusion(%x), metadata={op_name="jit(forward)/transpose_3" id=1}\n'
        '  ROOT %dot.7 = f32[1,64]{1,0} dot(%a, %b), metadata={stack_frame_id=3 op_name="jit(forward)/dot"}\n'
    )
    found = {each.name: each.kind for each in xplane.read(tmp_path, text)}
    assert found["bitcast_bitcast_fusion: transpose_3 f32[200]"] == "bitcast_bitcast_fusion (transpose)"
    assert found["dot.7: dot f32[1,64]"] == "dot", "it says so already"
    assert found["dot.6"] == "dot", "of this one nothing is known"


def test_a_folder_without_a_trace(tmp_path: Path) -> None:
    with pytest.raises(Unsupported, match="left no trace"):
        xplane.read(tmp_path)


@pytest.mark.parametrize("damaged", [b"\x0a\x7f", b"\xff" * 40, b"\x0b", b"\x0a\x02\x18\x01"])
def test_what_is_no_trace_is_refused_in_a_sentence(tmp_path: Path, damaged: bytes) -> None:
    (tmp_path / "host.xplane.pb").write_bytes(damaged)
    with pytest.raises(Unsupported, match="in a format that is not known here"):
        xplane.read(tmp_path)


_WHOLE = trace("tensorflow-mlp.xplane.pb")


@given(st.integers(0, len(_WHOLE) - 1), st.binary(min_size=1, max_size=4))
def test_damage_ends_in_one_error(where: int, put: bytes) -> None:
    try:
        for each in xplane.spans(_WHOLE[:where] + put + _WHOLE[where + len(put) :]):
            assert isinstance(each, Span)
    except MalformedError:
        return
