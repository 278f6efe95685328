"""Which cases there are, in which order, and who answers each: the control, and the slowdown."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from levelfield import scenarios
from levelfield.compatibility.devices import Gpu, Nvidia
from levelfield.errors import LevelfieldError
from levelfield.plan import Selection, make
from levelfield.schedule.launch_groups import remaining_passes
from levelfield.zoo import models
from levelfield.zoo.operators import parts

CPUS = (0, 1, 2, 3)

ON_CPU = [name for name in scenarios.NAMES if not scenarios.get(name).on_device]

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


def test_without_resnet50_another_block_has_the_control() -> None:
    made = make(Selection(models=("bert", "mlp")), available=CPUS)
    with_control = [block.case.id for block in made.blocks if any(arm.ordinal == 2 for arm in block.arms)]
    assert len(with_control) == 1
    assert "/latency/" in with_control[0]


def test_a_slowdown_is_given_to_one_arm_and_labelled() -> None:
    made = make(Selection(inject=("5%", "onnxruntime#2")), available=CPUS)
    assert made.injected == ("onnxruntime#2",)
    assert {arm.inject for block in made.blocks for arm in block.arms if arm.id == "onnxruntime#2"} == {"5%"}
    assert not make(Selection(), available=CPUS).injected


@pytest.mark.parametrize("name", ["torch#2", "torch@cu13#2"])
def test_an_arm_is_named_with_or_without_the_variant_that_the_machine_chose(name: str) -> None:
    gpu = Gpu(0, "NVIDIA H100", "9.0")
    here = Nvidia(driver="580.159.04", cuda="13.0", gpus=(gpu,))
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


@pytest.mark.parametrize(
    ("control", "twin"),
    [
        ("onnxruntime", "onnxruntime@1.30.0#2"),
        ("onnxruntime@1.29.0", "onnxruntime@1.29.0#2"),
        ("auto", "onnxruntime@1.30.0#2"),
    ],
)
def test_a_version_may_stand_twice(control: str, twin: str) -> None:
    made = make(Selection(backends=("onnxruntime@1.30.0", "onnxruntime@1.29.0"), control=control), available=CPUS)
    assert {arm.id for block in made.blocks for arm in block.arms if arm.ordinal == 2} == {twin}


@given(st.permutations(ON_CPU).flatmap(lambda order: st.integers(1, 4).map(lambda count: tuple(order[:count]))))
def test_cold_starts_come_first_and_blocks_of_one_scenario_stay_together(scenarios: tuple[str, ...]) -> None:
    made = make(Selection(scenarios=scenarios), available=CPUS)
    order = ["cold-start", "memory", "latency", "throughput"]
    order += ["prefill", "decode", "generate", "operators", "training", "convergence", "data-pipeline"]
    order += ["loadgen-single-stream", "loadgen-multi-stream", "loadgen-server", "loadgen-offline"]
    asked = [order.index(block.case.scenario) for block in made.blocks]
    assert asked == sorted(asked)
    assert set(made.scenarios) == set(scenarios)


def test_every_precision_and_number_of_threads_is_a_case_of_its_own() -> None:
    selection = Selection(
        models=("mlp",), scenarios=("latency",), precisions=("fp32", "bf16"), threads=(2, 1), control="none"
    )
    made = make(selection, available=CPUS)
    assert made.threads == (1, 2)
    assert made.cpus == (0, 1)
    assert [block.case.id for block in made.blocks] == [
        "mlp/latency/fp32/b1/t1/cpu",
        "mlp/latency/fp32/b1/t2/cpu",
        "mlp/latency/bf16/b1/t1/cpu",
        "mlp/latency/bf16/b1/t2/cpu",
    ]


CPUS_OPERATORS = (0, 1)
ONE = "gemm-35x700x2048"


def test_the_scenario_is_of_all_operators_and_no_network() -> None:
    made = make(Selection(scenarios=("operators",)), available=CPUS_OPERATORS)
    assert [block.case.model for block in made.blocks] == list(models.operators())
    assert {block.case.scenario for block in made.blocks} == {"operators"}


def test_the_same_launches_answer_all_of_them() -> None:
    made = make(Selection("smoke", scenarios=("operators",)), available=CPUS_OPERATORS)
    groups = [group for each in remaining_passes(made.blocks) for group in each.groups]
    assert [len(group) for group in groups] == [len(models.operators())] * 2


def test_one_that_is_named_is_measured_so() -> None:
    (block,) = make(Selection(models=(ONE,)), available=CPUS_OPERATORS).blocks
    assert block.case.id == f"{ONE}/operators/fp32/b1/t2/cpu"


def test_beside_networks_each_has_its_scenarios() -> None:
    made = make(Selection("smoke", models=("mlp", ONE), scenarios=("latency", "operators")), available=CPUS_OPERATORS)
    assert [block.case.id for block in made.blocks] == [
        "mlp/latency/fp32/b1/t2/cpu",
        f"{ONE}/operators/fp32/b1/t2/cpu",
    ]


def test_beside_a_network_its_own_are_measured_where_none_is_named() -> None:
    made = make(Selection("smoke", models=("bert",), scenarios=("latency", "operators")), available=CPUS_OPERATORS)
    of_bert = set(parts.of("bert", models.operators()))
    assert {block.case.model for block in made.blocks} == {"bert", *of_bert}
    assert [block.case.scenario for block in made.blocks] == ["latency", *["operators"] * len(of_bert)]
    alone = make(Selection("smoke", models=("bert", "mlp"), scenarios=("operators",)), available=CPUS_OPERATORS)
    assert {block.case.model for block in alone.blocks} == of_bert


def test_no_default_run_measures_them() -> None:
    for profile in ("smoke", "standard", "full"):
        assert not [
            block for block in make(Selection(profile), available=CPUS_OPERATORS).blocks if block.case.model == ONE
        ]


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
