"""What a comparison keeps of a run."""

import msgspec
import numpy as np
import pytest

from levelfield.compare.comparison import compare_runs
from levelfield.compare.types import Verdict
from tests.compare.runs import one, reduced, row, run, side


def test_throughput_is_compared_as_time_an_item() -> None:
    old, new = (side(name, 3, scenarios=["throughput"], noise_scale=0.0, slower=slower)
                for name, slower in (("a", {}), ("b", {"jax": 1.25})))  # fmt: skip
    slow = row(compare_runs(old, new), "jax")
    assert slow.verdict is Verdict.SLOWER
    assert slow.ratio is not None
    assert slow.ratio.value == pytest.approx(1.25, rel=1e-3)
    assert slow.old == pytest.approx(470, rel=0.01)  # 0.47 ms for a thousand


def test_a_control_is_not_a_case_of_its_own() -> None:
    found = one(run("a", control="jax"), run("b", control="jax"))
    assert sorted(row.new_arm for row in found.rows) == ["jax", "onnxruntime"]


def test_the_canary_has_the_cost_of_each_generation() -> None:
    record = run("a", generations=3)
    found = reduced(record).canary
    assert found is not None
    assert found.cost == pytest.approx(np.median(found.launch_costs))
    assert len(found.launch_costs) == 3
    without = msgspec.structs.replace(
        record, blocks=tuple(msgspec.structs.replace(block, canary=None) for block in record.blocks)
    )
    assert reduced(without).canary is None
