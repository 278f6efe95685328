"""From what a user typed to an ordered list of blocks."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from suite import cores, plan
from suite.errors import LevelfieldError
from suite.plan import ALONE, CANARY, ON_DEVICE, SCENARIOS, Selection, make, pair
from suite.profiles import PROFILES
from suite.records.schema import SCHEMA, Run, Settings

CPUS = (0, 1, 2, 3)

CONTROLLED = "resnet50/latency/fp32/b1/t4/cpu"


def test_the_default_is_everything_in_the_standard_profile() -> None:
    made = make(Selection(), available=CPUS)
    assert made.profile.name == "standard"
    assert set(made.models) == {"mlp", "resnet50", "bert"}
    assert len(made.backends) == 7
    assert CANARY not in made.backends
    assert CANARY not in made.models
    assert made.scenarios == ("cold-start", "memory", "latency", "throughput", "training")
    *others, training = made.blocks
    assert len(others) == 12
    assert all(len(block.arms) == 7 + (block.case.id == CONTROLLED) for block in others)
    assert training.case.id == "mlp/training/fp32/b1000/t4/cpu"
    assert [arm.id for arm in training.arms] == ["torch", "torch-compile", "tensorflow", "tensorflow-xla", "jax"]
    assert made.needs_onnx
    assert set(made.images) == {"torch", "tensorflow", "jax", "onnxruntime", "openvino", "canary"}
    assert len({block.case.id for block in made.blocks}) == 13


@pytest.mark.parametrize("name", PROFILES)
def test_every_profile_makes_a_plan(name: str) -> None:
    made = make(Selection(profile=name), available=CPUS)
    for block in made.blocks:
        alone = block.case.scenario in ALONE
        planned = made.profile.launches_alone if alone else made.profile.generations
        assert block.planned_generations == (made.profile.seeds if block.case.converges else planned)
        assert block.canary == (None if alone else CANARY)
        assert block.case.threads == len(made.cpus)
        if block.case.converges:
            assert block.case.batch == 64
        elif not block.case.per_item:
            assert block.case.batch == 1


@pytest.mark.parametrize(
    ("selection", "message", "fix"),
    [
        (Selection(profile="smok"), "There is no profile called 'smok'.", "Did you mean 'smoke'?"),
        (Selection(models=("resnet",)), "There is no model called 'resnet'.", "Did you mean 'resnet50'?"),
        (Selection(models=("mlp", "brt")), "There is no model called 'brt'.", "Did you mean 'bert'?"),
        (Selection(backends=("onnx",)), "There is no backend called 'onnx'.", "Did you mean 'onnxruntime'"),
        (Selection(backends=("tensorflow_xla",)), "'tensorflow_xla'", "'tensorflow-xla' or 'tensorflow'"),
        (Selection(scenarios=("latence",)), "There is no scenario called 'latence'.", "Did you mean 'latency' or"),
        (Selection(precisions=("bf61",)), "There is no precision called 'bf61'.", "Did you mean 'bf16' or 'fp16'?"),
        (
            Selection(precisions=("fp32", "tf32")),
            "Nobody here computes in tf32 on the CPU.",
            "--precision fp32,bf16,int8",
        ),
        (
            Selection(precisions=("int8",), backends=("jax",)),
            "JAX has no static quantisation",
            "--precision fp32,bf16.",
        ),
        (Selection(scenarios=("training",), precisions=("bf16",)), "Training is measured in fp32 alone.", "Add fp32"),
        (
            Selection(scenarios=("convergence",), precisions=("bf16",)),
            "Training is measured in fp32 alone.",
            "Add fp32",
        ),
        (
            Selection(scenarios=("convergence",), models=("bert",)),
            "bert: there is no network of this kind that is trained to a target.",
            "Ask for mlp, resnet50.",
        ),
        (
            Selection(scenarios=("convergence",), backends=("onnxruntime",)),
            "onnxruntime cannot train: a finished model is read there.",
            "Ask for torch, torch-compile, tensorflow, tensorflow-xla, jax.",
        ),
        (Selection(threads=(2, 1, 2)), "--threads names 2 twice.", "--threads 1,2."),
        (Selection(threads=(1, 2, 8)), "8 threads were asked for", "--threads 4 or fewer"),
        (Selection(models=("zzz",)), "There is no model called 'zzz'.", "Known: bert, mlp, resnet50."),
        (Selection(backends=("onnxruntime@1.2.3",)), "no lock of onnxruntime 1.2.3", "lock onnxruntime@1.2.3"),
        (Selection(control="onnx"), "There is no backend called 'onnx'.", "'onnxruntime'"),
        (Selection(backends=("jax",), control="torch"), "There is no backend called 'torch'.", "jax"),
        (Selection(inject=("5%", "onnxruntime#3")), "There is no arm called 'onnxruntime#3'.", "'onnxruntime#2'"),
        (Selection(models=("canary",)), "There is no model called 'canary'.", ""),
        (Selection(backends=("canary",)), "There is no backend called 'canary'.", ""),
        (Selection(batches=(0,)), "A batch of 0 cannot be measured.", "from 1 to 65536"),
        (Selection(batches=(1, 10**9)), "A batch of 1000000000 cannot be measured.", "from 1 to 65536"),
        (Selection(threads=(0,)), "0 threads cannot compute anything.", "--threads"),
        (Selection(threads=(-1,)), "-1 threads cannot compute anything.", "--threads"),
        (Selection(threads=(5,)), "5 threads were asked for, and this process may use 4 CPUs.", "--threads 4"),
    ],
)
def test_what_cannot_be_says_why(selection: Selection, message: str, fix: str) -> None:
    with pytest.raises(LevelfieldError) as caught:
        make(selection, available=CPUS)
    assert message in caught.value.message
    assert fix in caught.value.fix
    assert caught.value.exit_code == 2


def test_a_selection_is_kept_in_its_order_without_repeats() -> None:
    made = make(
        Selection(
            models=("bert", "mlp", "bert"),
            backends=("openvino", "jax", "openvino"),
            scenarios=("throughput", "latency"),
            batches=(8, 2, 8),
        ),
        available=CPUS,
    )
    assert made.models == ("bert", "mlp")
    assert made.backends == ("openvino", "jax")
    assert made.batches == {"bert": (8, 2), "mlp": (8, 2)}
    assert [block.case.id for block in made.blocks] == [
        "bert/latency/fp32/b1/t4/cpu",
        "mlp/latency/fp32/b1/t4/cpu",
        "bert/throughput/fp32/b8/t4/cpu",
        "bert/throughput/fp32/b2/t4/cpu",
        "mlp/throughput/fp32/b8/t4/cpu",
        "mlp/throughput/fp32/b2/t4/cpu",
    ]


ON_CPU = [scenario for scenario in SCENARIOS if scenario not in ON_DEVICE]


@given(st.permutations(ON_CPU).flatmap(lambda order: st.integers(1, 4).map(lambda count: tuple(order[:count]))))
def test_cold_starts_come_first_and_blocks_of_one_scenario_stay_together(scenarios: tuple[str, ...]) -> None:
    made = make(Selection(scenarios=scenarios), available=CPUS)
    order = ["cold-start", "memory", "latency", "throughput", "training", "convergence", "data-pipeline"]
    asked = [order.index(block.case.scenario) for block in made.blocks]
    assert asked == sorted(asked)
    assert set(made.scenarios) == set(scenarios)


def test_no_batches_where_nothing_is_measured_in_batches() -> None:
    assert make(Selection(scenarios=("latency",)), available=CPUS).batches == {}


def trainings(selection: Selection) -> list[str]:
    return [block.case.id for block in make(selection, available=CPUS).blocks if block.case.trains]


def test_trainings_to_a_target_have_one_batch_and_one_launch_a_seed() -> None:
    made = make(Selection(scenarios=("convergence",)), available=CPUS)
    assert [block.case.id for block in made.blocks] == [
        "mlp/convergence/fp32/b64/t4/cpu",
        "resnet50/convergence/fp32/b64/t4/cpu",
    ]
    for block in made.blocks:
        assert [arm.id for arm in block.arms] == ["torch", "torch-compile", "tensorflow", "tensorflow-xla", "jax"]
        assert (block.planned_generations, block.canary) == (5, None), "a ranking takes five seeds"
    assert not made.files
    batches = make(Selection(scenarios=("convergence",), models=("mlp",), batches=(8,)), available=CPUS)
    assert [block.case.batch for block in batches.blocks] == [64], "a batch is one of the hyper-parameters"
    for name, has in (("smoke", False), ("standard", False), ("full", True)):
        assert ("convergence" in PROFILES[name].scenarios) == has
    asked = pair(Selection(scenarios=("convergence",), models=("mlp",)), "jax", "torch", available=CPUS)
    assert [arm.id for arm in asked.blocks[0].arms] == ["jax", "torch"]


def test_who_asks_for_training_gets_all_models_trained() -> None:
    asked = Selection(scenarios=("training",))
    assert trainings(asked) == [
        "mlp/training/fp32/b1000/t4/cpu",
        "resnet50/training/fp32/b4/t4/cpu",
        "bert/training/fp32/b2/t4/cpu",
    ]
    assert make(asked, available=CPUS).training_batches == {"mlp": (1000,), "resnet50": (4,), "bert": (2,)}
    assert trainings(Selection(profile="smoke")) == []
    assert len(trainings(Selection(profile="full"))) == 9
    assert trainings(Selection(models=("bert",))) == []
    assert trainings(Selection(scenarios=("training",), models=("bert",), batches=(3, 1))) == [
        "bert/training/fp32/b3/t4/cpu",
        "bert/training/fp32/b1/t4/cpu",
    ]
    whole = Selection(scenarios=PROFILES["standard"].scenarios)
    assert trainings(whole) == trainings(Selection()), "the command in a report asks for what the profile asks for"


def test_who_cannot_train_is_left_out() -> None:
    made = make(Selection(backends=("jax", "openvino")), available=CPUS)
    assert {len(block.arms) for block in made.blocks if block.case.trains} == {1}
    assert trainings(Selection(backends=("onnxruntime", "openvino"))) == []
    with pytest.raises(LevelfieldError) as caught:
        make(Selection(backends=("onnxruntime", "openvino"), scenarios=("training",)), available=CPUS)
    assert caught.value.message.startswith("onnxruntime, openvino cannot train")
    assert "torch, torch-compile, tensorflow" in caught.value.fix
    with pytest.raises(LevelfieldError, match="only one can train"):
        pair(Selection(scenarios=("training",)), "jax", "openvino", available=CPUS)
    assert len(pair(Selection(), "jax", "torch", available=CPUS).blocks) == 13


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


def test_versions_and_settings_stand_side_by_side() -> None:
    words = ("onnxruntime@1.30.0", "onnxruntime", "openvino+hint=throughput", "onnxruntime@1.30.0")
    made = make(Selection(backends=words, control="none"), available=CPUS)
    assert made.backends == words[:3]
    assert made.images == ("onnxruntime@1.30.0", "onnxruntime", "openvino", "canary")
    assert made.needs_onnx
    assert all([arm.id for arm in block.arms] == list(words[:3]) for block in made.blocks)


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
    assert len(made.blocks) == 12
    for block in made.blocks:
        assert tuple(arm.id for arm in block.arms) == ids
        assert block.planned_generations == made.profile.generations, "cold starts are to be decided, too"
    slowed = pair(Selection(inject=("5%", ids[1])), first, second, available=CPUS)
    assert slowed.injected == (ids[1],)


def test_without_onnx_readers_no_exporter() -> None:
    assert not make(Selection(backends=("jax", "torch")), available=CPUS).needs_onnx
    assert make(Selection(backends=("jax", "openvino")), available=CPUS).needs_onnx


def _siblings(cpu: int) -> str:
    """A machine of four cores with two threads each, numbered as Linux usually does."""
    return f"{cpu % 4},{cpu % 4 + 4}"


@pytest.mark.parametrize(
    ("threads", "available", "cpus"),
    [
        (None, range(8), (0, 1, 2, 3)),
        (1, range(8), (0,)),
        (4, range(8), (0, 1, 2, 3)),
        (6, range(8), (0, 1, 2, 3, 4, 5)),
        (8, range(8), tuple(range(8))),
        (None, (0, 4, 1, 5), (0, 1)),
        (3, (0, 4, 1, 5), (0, 1, 4)),
        (None, (6, 7), (6, 7)),
    ],
)
def test_one_cpu_of_every_core_first(
    monkeypatch: pytest.MonkeyPatch, threads: int | None, available: range | tuple[int, ...], cpus: tuple[int, ...]
) -> None:
    monkeypatch.setattr(cores, "core", _siblings)
    made = make(Selection(threads=() if threads is None else (threads,)), available=tuple(available))
    assert made.cpus == cpus
    assert made.threads == (len(cpus),)
    assert all(block.case.threads == len(cpus) for block in made.blocks)


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


def test_who_cannot_answer_stands_in_the_block_and_needs_no_image() -> None:
    selection = Selection(models=("mlp",), scenarios=("latency",), precisions=("int8",), control="none")
    made = make(selection, available=CPUS)
    assert len(made.blocks[0].arms) == 7
    assert {arm.id for arm in made.answering} == {"onnxruntime", "openvino"}
    assert made.images == ("onnxruntime", "openvino", "canary")
    assert made.files == (("mlp", "int8", 1),)


def test_openvino_computes_bf16_from_the_file_in_fp32() -> None:
    made = make(Selection(models=("mlp",), scenarios=("latency",), precisions=("bf16", "fp32")), available=CPUS)
    assert made.files == (("mlp", "fp32", 1),)


def test_the_kernel_is_asked_where_nothing_is_given() -> None:
    import os

    made = make(Selection())
    assert set(made.cpus) <= os.sched_getaffinity(0)
    assert made.cpus


@pytest.mark.parametrize(
    "selection",
    [
        Selection(),
        Selection(profile="smoke"),
        Selection(profile="full", models=("mlp",), batches=(3, 5), threads=(2,)),
        Selection(scenarios=("memory",), backends=("jax",)),
        Selection(precisions=("fp32", "bf16"), threads=(4, 1), models=("mlp",)),
    ],
)
def test_a_record_tells_its_plan(selection: Selection) -> None:
    made = make(selection, available=CPUS)
    run = Run(
        schema=SCHEMA,
        id="x",
        started="x",
        tool_version="x",
        tool_sha256="x",
        command=(),
        settings=Settings(
            profile=made.profile.name,
            models=made.models,
            backends=made.backends,
            scenarios=made.scenarios,
            precisions=made.precisions,
            batches=made.batches,
            threads=max(made.threads),
            thread_counts=made.threads if len(made.threads) > 1 else (),
            training_batches=made.training_batches,
            cpus=made.cpus,
            generations=made.profile.generations,
            rounds=made.profile.rounds,
            budget_seconds=None,
            precision_target=0.01,
            margin=0.02,
            seed=1,
            launcher="docker",
        ),
        machine={},
        images=(),
        artifacts=(),
        blocks=made.blocks,
    )
    assert plan.of(msgspec.json.decode(msgspec.json.encode(run), type=Run)) == made


def test_profiles_hold_what_they_say() -> None:
    for profile in PROFILES.values():
        assert set(profile.batches) == set(profile.training_batches) == set(plan.names_of_models())
        assert set(profile.trained) <= set(plan.names_of_models())
        assert bool(profile.trained) == ("training" in profile.scenarios)
        assert profile.generations >= (1 if "smoke" in profile.labels else 5), "fewer than five are never ranked"
        assert profile.window_ns >= 50_000_000
        assert profile.rounds >= 2
        assert profile.says
    assert PROFILES["smoke"].budget_seconds <= 180
    assert PROFILES["standard"].budget_seconds <= 600
