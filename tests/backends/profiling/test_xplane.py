"""Traces that JAX and TensorFlow wrote, read back; also damaged ones."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from levelfield.backends.profiling import xplane
from levelfield.backends.profiling.operators import Span
from levelfield.backends.protobuf import MalformedError
from levelfield.backends.protocol import Unsupported
from tests.backends.profiling.recorded import by_kind, trace


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
