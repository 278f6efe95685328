"""Which cases there are, in which order, and who answers each: the control, and the slowdown."""

import msgspec
import pytest

from levelfield.compatibility.gate import Gpu, Nvidia
from levelfield.errors import LevelfieldError
from levelfield.plan import Selection, blocks, make
from levelfield.zoo import flops, models

CPUS = (0, 1, 2, 3)

CONTROLLED = "resnet50/latency/fp32/b1/t4/cpu"


@pytest.mark.parametrize(
    ("selection", "control"),
    [
        (Selection(), "onnxruntime"),
        (Selection(backends=("torch", "jax")), "jax"),
        (Selection(backends=("openvino",)), "openvino"),
        (Selection(control="tensorflow"), "tensorflow"),
        (Selection(control="none"), None),
    ],
)
def test_one_backend_stands_twice_in_one_block(selection: Selection, control: str | None) -> None:
    for block in make(selection, available=CPUS).blocks:
        twins = [arm.backend for arm in block.arms if arm.ordinal == 2]
        assert twins == ([control] if control and block.case.id == CONTROLLED else [])
        assert len({arm.id for arm in block.arms}) == len(block.arms)


def test_no_run_compares_more_arms_than_its_record_may_hold(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(blocks, "MAX_ARMS", 2)
    selection = Selection(models=("mlp",), scenarios=("latency",), backends=("torch", "jax"), control="none")
    assert len(make(selection, available=CPUS).blocks[0].arms) == 2
    with pytest.raises(LevelfieldError, match="3 arms would be compared in one case, and 2 are the most"):
        make(msgspec.structs.replace(selection, control="jax"), available=CPUS)


def test_a_slowdown_is_given_to_one_arm_and_labelled() -> None:
    made = make(Selection(inject=("5%", "onnxruntime#2")), available=CPUS)
    assert made.injected == ("onnxruntime#2",)
    assert {arm.inject for block in made.blocks for arm in block.arms if arm.id == "onnxruntime#2"} == {"5%"}
    assert not make(Selection(), available=CPUS).injected


@pytest.mark.parametrize("name", ["torch#2", "torch@cu13#2"])
def test_an_arm_is_named_with_or_without_the_variant_that_the_machine_chose(name: str) -> None:
    here = Nvidia(driver="580.159.04", cuda="13.0", gpus=(Gpu(0, "NVIDIA H100", "9.0"),))
    selected = Selection(
        models=("mlp",),
        backends=("torch", "jax"),
        scenarios=("latency-device",),
        variant="auto",
        control="torch",
        inject=("5%", name),
    )
    made = make(selected, available=CPUS, here=here)
    assert made.injected == ("torch@cu13#2",), "a run on the GPU alone has a control too"


def test_every_precision_and_number_of_threads_is_a_case_of_its_own() -> None:
    selection = Selection(
        models=("mlp",), scenarios=("latency",), precisions=("fp32", "bf16"), threads=(2, 1), control="none"
    )
    made = make(selection, available=CPUS)
    assert (made.threads, made.cpus) == ((1, 2), (0, 1))
    assert [block.case.id for block in made.blocks] == [
        "mlp/latency/fp32/b1/t1/cpu", "mlp/latency/fp32/b1/t2/cpu", "mlp/latency/bf16/b1/t1/cpu",
        "mlp/latency/bf16/b1/t2/cpu",
    ]  # fmt: skip


CPUS_OPERATORS = (0, 1)
ONE = "gemm-35x700x2048"


def test_beside_a_network_its_own_are_measured_where_none_is_named() -> None:
    made = make(Selection("smoke", models=("bert",), scenarios=("latency", "operators")), available=CPUS_OPERATORS)
    of_bert = set(flops.operators_of("bert", models.operators()))
    assert {block.case.model for block in made.blocks} == {"bert", *of_bert}
    assert [block.case.scenario for block in made.blocks] == ["latency", *["operators"] * len(of_bert)]
    alone = make(Selection("smoke", models=("bert", "mlp"), scenarios=("operators",)), available=CPUS_OPERATORS)
    assert {block.case.model for block in alone.blocks} == of_bert


@pytest.mark.parametrize(
    ("selection", "says"),
    [
        (Selection(models=("gemm-35x700",)), "There is no model called 'gemm-35x700'"),
        (Selection(models=(ONE,), precisions=("bf16",)), "operators is measured in fp32 alone"),
        (Selection(models=(ONE,), scenarios=("latency",)), f"{ONE} is a single operator"),
        (Selection(models=("mlp", ONE), scenarios=("latency",)), f"{ONE} is a single operator"),
        (Selection(scenarios=("latency", "operators"), precisions=("bf16",)), "operators is measured in fp32 alone"),
        (Selection(models=(ONE,), scenarios=("training",)), "cannot be trained"),
        (Selection(models=("mlp",), scenarios=("operators",)), "mlp: no operator here has the shape of a layer of it"),
    ],
)
def test_what_cannot_be_is_refused(selection: Selection, says: str) -> None:
    with pytest.raises(LevelfieldError, match=says):
        make(selection, available=CPUS_OPERATORS)
