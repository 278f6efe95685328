"""Plans: from what a user typed, of two arms and of a record; and what is said of what cannot be."""

import msgspec
import pytest

from levelfield import plan
from levelfield.errors import LevelfieldError
from levelfield.machine.topology import unknown
from levelfield.plan import CANARY, Selection, make, pair
from levelfield.record.schema import Run
from tests.records_builder import of_plan

CPUS = (0, 1, 2, 3)

CONTROLLED = "resnet50/latency/fp32/b1/t4/cpu"


def test_the_default_is_everything_in_the_standard_profile() -> None:
    made = make(Selection(), available=CPUS)
    assert (made.profile.name, set(made.models)) == ("standard", {"mlp", "resnet50", "bert"})
    assert len(made.backends) == 7
    assert CANARY not in made.backends
    assert CANARY not in made.models
    assert made.scenarios == ("memory", "latency", "throughput")
    assert all(len(block.arms) == 7 + (block.case.id == CONTROLLED) for block in made.blocks)
    assert made.exporters
    assert set(made.images) == {"torch", "tensorflow", "jax", "onnxruntime", "openvino", "canary"}
    assert len({block.case.id for block in made.blocks}) == len(made.blocks) == 7


@pytest.mark.parametrize(
    ("selection", "message", "fix"),
    [
        (Selection(profile="smok"), "There is no profile called 'smok'.", "Did you mean 'smoke'?"),
        (Selection(backends=("onnx",)), "There is no backend called 'onnx'.", "Did you mean 'onnxruntime'"),
        (Selection(models=("net.py:build",)), "--models takes names, and 'net.py:build' is a path.", "to --model."),
        (Selection(precisions=("bf61",)), "There is no precision called 'bf61'.", "Did you mean 'bf16' or 'fp16'?"),
        (Selection(precisions=("fp32", "tf32")), "Nobody here computes in tf32 on the CPU.", "--precision fp32,bf16"),
        (
            Selection(scenarios=("training",), precisions=("int8",)),
            "No backend here trains in int8. torch trains in fp32, bf16 here, not in int8: 8 bits hold no gradient",
            "Choose --precision fp32,bf16, or other scenarios.",
        ),
        (
            Selection(models=("mlp", "vit"), scenarios=("training",)),
            "vit cannot be trained: there is no recipe.",
            "ask for mlp, resnet50, bert.",
        ),
        (Selection(backends=("jax",), control="torch"), "There is no backend called 'torch'.", "jax"),
        (Selection(inject=("5%", "onnxruntime#2"), control="none"), "There is no arm called 'onnxruntime#2'.", ""),
        (Selection(inject=("5%", "onnxruntime#3")), "There is no arm called 'onnxruntime#3'.", "'onnxruntime#2'"),
        (Selection(batches=(0,)), "A batch of 0 cannot be measured.", "from 1 to 65536"),
        (Selection(threads=(0,)), "0 threads cannot compute anything.", "--threads"),
    ],
)
def test_what_cannot_be_says_why(selection: Selection, message: str, fix: str) -> None:
    with pytest.raises(LevelfieldError) as caught:
        make(selection, available=CPUS)
    assert message in caught.value.message
    assert fix in caught.value.fix
    assert caught.value.exit_code == 2


@pytest.mark.parametrize(
    ("first", "second", "ids"),
    [
        ("onnxruntime@1.30.0", "onnxruntime", ("onnxruntime@1.30.0", "onnxruntime")),
        ("onnxruntime", "onnxruntime", ("onnxruntime", "onnxruntime#2")),
        ("jax", "openvino+hint=throughput", ("jax", "openvino+hint=throughput")),
    ],
)
def test_a_pair_is_two_arms_in_every_block(first: str, second: str, ids: tuple[str, str]) -> None:
    made = pair(Selection(), first, second, available=CPUS)
    assert len(made.blocks) == 7
    for block in made.blocks:
        assert tuple(arm.id for arm in block.arms) == ids
        assert block.planned_generations == made.profile.generations, "peak memory is to be decided, too"
    assert pair(Selection(inject=("5%", ids[1])), first, second, available=CPUS).injected == (ids[1],)


@pytest.mark.parametrize(
    "selection",
    [
        Selection(),
        Selection(profile="smoke"),
        Selection(profile="full", models=("mlp",), batches=(3, 5), threads=(2,)),
        Selection(precisions=("fp32", "bf16"), threads=(4, 1), models=("mlp",)),
        Selection(cpus="all", models=("mlp",)),
    ],
)
def test_a_record_tells_its_plan(selection: Selection) -> None:
    made = make(selection, available=CPUS)
    assert plan.of_record(msgspec.json.decode(msgspec.json.encode(of_plan(made)), type=Run)) == made


@pytest.mark.parametrize(
    ("allowed", "quota", "codes", "threads"),
    [
        ((0, 1), None, (), 2),
        ((0, 1), 1.5, ("cpu-quota",), 1),
        ((0,), None, ("one-cpu",), 1),
        ((0,), 0.5, ("cpu-quota", "one-cpu"), 1),
    ],
)
def test_too_little_cpu_time_is_a_warning_of_the_plan(
    allowed: tuple[int, ...], quota: float | None, codes: tuple[str, ...], threads: int
) -> None:
    made = make(Selection(), available=msgspec.structs.replace(unknown(allowed), quota=quota))
    assert tuple(warning.code for warning in made.warnings) == codes
    assert made.threads == (threads,)
