"""A profile that ONNX Runtime wrote, read back."""

import json

from levelfield.backends.profiling import onnxruntime
from levelfield.backends.profiling.operators import summed
from tests.backends.profiling.recorded import CALLS, trace


def test_onnxruntime_s_last_calls_are_those_that_count() -> None:
    written = trace("onnxruntime-mlp.json")
    assert sum(event["name"] == "model_run" for event in json.loads(written)) == 20
    found = summed(onnxruntime.spans(written, CALLS), CALLS)
    assert [(each.kind, each.executions) for each in found] == [("FusedGemm", CALLS)] * 6
    assert {each.name for each in found} == {"fused node_linear", *(f"fused node_linear_{n}" for n in range(1, 6))}
    runs = [event["dur"] for event in json.loads(written) if event["name"] == "model_run"]
    assert 0 < sum(each.self_ns for each in found) <= 1000 * sorted(runs[-CALLS:])[CALLS // 2]
