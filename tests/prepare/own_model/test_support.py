"""What a user's own file can be measured with."""

from pathlib import Path
from typing import Any

import pytest

from levelfield import plan
from levelfield.plan import Selection
from tests.prepare.own_model import onnx_files
from tests.prepare.own_model.onnx_files import read, refused

pytestmark = pytest.mark.usefixtures("cache")


def test_what_is_planned_for_it(tmp_path: Path) -> None:
    one = read(onnx_files.write(tmp_path, "m.onnx", onnx_files.classifier()))
    made = plan.make(Selection("standard", own=one), available=[0, 1])
    assert made.models == (one.model,)
    assert {arm.backend for block in made.blocks for arm in block.arms} == {"onnxruntime", "openvino"}
    assert [block.case.id.removeprefix(f"{one.model}/") for block in made.blocks] == [
        "memory/fp32/b1/t2/cpu", "latency/fp32/b1/t2/cpu",
    ]  # fmt: skip
    assert "exporter" not in made.images
    assert not made.exporters
    assert "onnxruntime" in plan.make(Selection("smoke", own=one, backends=("openvino",))).images, "the reference's"


@pytest.mark.parametrize(
    ("wish", "says"),
    [
        ({"models": ("mlp",)}, "--models names those of this tool"),
        ({"backends": ("torch", "onnxruntime", "jax")}, "torch, jax read no ONNX file"),
        ({"scenarios": ("training",)}, "cannot be measured in training: a file says how to answer"),
        ({"scenarios": ("data-pipeline",)}, "there is no dataset for it"),
        ({"precisions": ("bf16",)}, "is in fp32, and is measured as it is"),
    ],
)
def test_what_it_is_not_for(tmp_path: Path, wish: dict[str, Any], says: str) -> None:
    one = read(onnx_files.write(tmp_path, "m.onnx", onnx_files.classifier()))
    with refused(says):
        plan.make(Selection("smoke", own=one, **wish))


def test_fixed_shapes_leave_no_choice(tmp_path: Path) -> None:
    one = read(onnx_files.write(tmp_path, "m.onnx", onnx_files.classifier(batch=5)))
    with refused("The shapes of m.onnx are fixed"):
        plan.make(Selection("smoke", own=one, batches=(8,)))
    with refused("its throughput is 1 ÷ latency", "--scenarios latency"):
        plan.make(Selection("smoke", own=one, scenarios=("throughput",)))
    made = plan.make(Selection("full", own=one))
    assert made.batches == {}
    assert {block.case.scenario for block in made.blocks} == {"cold-start", "memory", "latency"}
    recorded = Selection("full", own=one, scenarios=("throughput",), batches_of={one.model: (1,)})
    assert [block.case.batch for block in plan.make(recorded).blocks] == [1], "as it was measured before"
