"""Which models are trained, in steps and to a target."""

import pytest

from suite.errors import LevelfieldError
from suite.plan import Selection, make, pair
from suite.plan.profiles import PROFILES

CPUS = (0, 1, 2, 3)


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
    assert len(pair(Selection(), "jax", "torch", available=CPUS).blocks) == 11
