"""What OpenVINO counts of its layers."""

import datetime as dt
from types import SimpleNamespace
from typing import Any

from levelfield.backends.profiling.openvino import layers
from levelfield.backends.profiling.operators import Operator, operators


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
