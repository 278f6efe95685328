"""What a user's own file can be measured with."""

import re
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest

from levelfield import plan
from levelfield.backends.protobuf import number
from levelfield.plan import Selection
from levelfield.prepare.own_model import store
from levelfield.record.schema import OwnFile
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
    assert made.exporters == ("exporter",), "it says how far the answers move"
    assert "onnxruntime" in plan.make(Selection("smoke", own=one, backends=("openvino",))).images, "the reference's"


def test_several_sizes_and_batches_are_cases_of_one_run(tmp_path: Path) -> None:
    path = onnx_files.write(tmp_path, "encoder.onnx", onnx_files.encoder())
    one = store.requested(path, (("sequence", "16,32"),))
    assert one is not None
    made = plan.make(Selection("standard", own=one, batches=(1, 8), scenarios=("latency", "throughput")))
    models = [each.model for each in one.sized]
    assert {(case.model, case.scenario, case.batch) for case in (block.case for block in made.blocks)} == {
        (model, scenario, batch) for model in models for scenario, batch in (("latency", 1), ("throughput", 8))
    }
    assert [key.model for key in made.files if key.batch == 8] == models
    with refused("A batch of 1 has no throughput"):
        plan.make(Selection("standard", own=one, batches=(1, 8), scenarios=("throughput",)))


@pytest.mark.parametrize(
    ("element", "precision"), [(onnx_files.FLOAT16, "fp16"), (onnx_files.BFLOAT16, "bf16"), (22, "int4")]
)
def test_a_file_is_planned_in_its_own_precision_and_no_other(tmp_path: Path, element: int, precision: str) -> None:
    weight = onnx_files.tensor("w", np.ones(4, "<f2")).replace(number(2, onnx_files.FLOAT16), number(2, element))
    given, answer = (onnx_files.value(name, onnx_files.FLOAT, [4]) for name in ("x", "y"))
    one = read(onnx_files.write(tmp_path, "m.onnx", onnx_files.model([], [weight], [given], [answer])))
    made = plan.make(Selection("smoke", own=one), available=[0, 1])
    assert made.precisions == (precision,)
    assert {arm.backend for arm in made.answering} == {"onnxruntime", "openvino"}
    with refused(f"is in {precision}, and is measured as it is", "Leave out --precision"):
        plan.make(Selection("smoke", own=one, precisions=("fp32",)))
    with refused("Nobody here computes in int4"):
        plan.make(Selection("smoke", precisions=("int4",)))


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


def test_who_is_left_out_of_a_network_of_jax_and_why() -> None:
    one = OwnFile("net", "net.py", "0" * 64, 1, (), (), "fp32", 0, function="build", framework="jax")
    made = plan.make(Selection("smoke", own=one))
    assert {arm.backend for arm in made.answering} == {"jax"}
    (warning,) = [each for each in made.warnings if each.code == "left-out"]
    assert re.fullmatch("Left out, since .*; jax2onnx 0.17.1, .*: onnxruntime, openvino.", warning.message)
    with refused("cannot run it: networks of PyTorch alone", "jax2onnx 0.17.1"):
        plan.make(Selection("smoke", own=one, backends=("jax", "onnxruntime")))
    made = plan.make(Selection("smoke", own=msgspec.structs.replace(one, framework="torch")))
    assert "left-out" not in {each.code for each in made.warnings}
