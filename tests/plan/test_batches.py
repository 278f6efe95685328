"""Which models are measured in batches and trained, and that one item at a time is never called throughput."""

import shlex
import shutil
from pathlib import Path

import msgspec
import pytest

from levelfield import scenarios
from levelfield.cli.measure import bench
from levelfield.errors import LevelfieldError
from levelfield.options.registry import rerun
from levelfield.plan import Plan, Selection, make, pair
from levelfield.plan.profiles import PROFILES
from tests import plugged
from tests.records_builder import of_plan

CPUS = (0, 1)
FOUR_CPUS = (0, 1, 2, 3)
ON_CPU = tuple(name for name in scenarios.NAMES if not scenarios.get(name).on_device)


def throughput(made: Plan) -> dict[str, tuple[int, ...]]:
    cases = [block.case for block in made.blocks if block.case.scenario == "throughput"]
    return {model: tuple(case.batch for case in cases if case.model == model) for model in {c.model: 0 for c in cases}}


@pytest.mark.parametrize("scenarios", [(), ("throughput",), ("latency", "throughput"), ON_CPU])
@pytest.mark.parametrize("name", PROFILES)
def test_no_profile_measures_the_throughput_of_one_item(name: str, scenarios: tuple[str, ...]) -> None:
    made = make(Selection(name, scenarios=scenarios), available=CPUS)
    assert not [block.case.id for block in made.blocks if block.case.one_by_one]


def test_standard_measures_it_of_the_mlp_unless_asked() -> None:
    assert throughput(make(Selection(), available=CPUS)) == {"mlp": (1000,)}
    assert make(Selection(models=("bert",)), available=CPUS).batches == {}
    assert throughput(pair(Selection(), "jax", "torch", available=CPUS)) == {"mlp": (1000,)}
    whole = Selection(scenarios=PROFILES["standard"].scenarios)
    assert throughput(make(whole, available=CPUS)) == {"mlp": (1000,)}, "to name them all is to ask for the profile"
    named = Selection(scenarios=("throughput",))
    assert throughput(make(named, available=CPUS)) == {"mlp": (1000,), "resnet50": (4,), "bert": (4,)}
    typed = Selection(models=("bert", "mlp"), batches=(8, 2))
    assert throughput(make(typed, available=CPUS)) == {"bert": (8, 2), "mlp": (8, 2)}


@pytest.mark.parametrize(
    "selection",
    [
        Selection(batches=(1,)),
        Selection(batches=(1, 4, 16), scenarios=("throughput",)),
        Selection("full", batches=(4, 1), models=("mlp",)),
        Selection(batches=(1,), scenarios=("latency", "throughput"), models=("bert",)),
    ],
)
def test_one_item_is_refused(selection: Selection) -> None:
    with pytest.raises(LevelfieldError, match="one item at a time is latency") as caught:
        make(selection, available=CPUS)
    assert "--scenarios latency" in caught.value.fix
    assert "2 or more" in caught.value.fix
    assert caught.value.exit_code == 2


@pytest.mark.parametrize(
    "selection",
    [
        Selection(),
        Selection(backends=("onnxruntime", "openvino")),
        Selection(models=("bert", "mlp"), backends=("openvino",)),
        Selection(models=("bert",)),
        Selection(models=("mlp",), backends=("openvino",)),
        Selection(scenarios=("throughput",)),
        Selection(batches=(8, 2)),
        Selection("full"),
    ],
)
def test_the_command_in_a_report_makes_the_same_plan(selection: Selection) -> None:
    made = make(selection, available=CPUS)
    typed = bench.make_context("bench", shlex.split(rerun(of_plan(made)))[2:]).params
    again = Selection(
        typed["profile"],
        models=typed["models"],
        backends=typed["backends"],
        scenarios=typed["scenarios"],
        batches=typed["batches"],
        control=typed["control"],
    )
    cases = [[block.case.id for block in each.blocks] for each in (made, make(again, available=CPUS))]
    assert cases[0] == cases[1]


def test_a_batch_whose_inputs_no_memory_holds_is_refused() -> None:
    chosen = Selection(models=("resnet50",), scenarios=("throughput",), batches=(8, 65536))
    with pytest.raises(LevelfieldError, match=r"The inputs of resnet50 in a batch of 65536 take 36\.8 GiB") as found:
        make(chosen, available=CPUS)
    assert "--batch" in found.value.fix


def test_a_model_of_a_plug_in_has_the_batches_that_it_names(tmp_path: Path) -> None:
    project = tmp_path / "project"
    shutil.copytree(plugged.TEMPLATE, project)
    spec = project / "levelfield_example" / "linear" / "__init__.py"
    spec.write_text(spec.read_text().replace('"standard": (8,), ', ""))
    chosen = Selection(profile="smoke", models=("linear",), backends=("torch",), scenarios=("throughput",))
    with plugged.seen(plugged.install(project, tmp_path / "installed")):
        assert throughput(make(chosen, available=CPUS)) == {"linear": (8,)}
        with pytest.raises(LevelfieldError, match="linear names no batches for the profile standard"):
            make(msgspec.structs.replace(chosen, profile="standard"), available=CPUS)


def trainings(selection: Selection) -> list[str]:
    return [block.case.id for block in make(selection, available=FOUR_CPUS).blocks if block.case.trains]


def test_who_asks_for_training_gets_all_models_trained() -> None:
    asked = Selection(scenarios=("training",))
    assert trainings(asked) == [
        "mlp/training/fp32/b1000/t4/cpu",
        "resnet50/training/fp32/b4/t4/cpu",
        "bert/training/fp32/b2/t4/cpu",
    ]
    assert make(asked, available=FOUR_CPUS).training_batches == {"mlp": (1000,), "resnet50": (4,), "bert": (2,)}
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
    made = make(Selection(backends=("jax", "openvino"), scenarios=("latency", "training")), available=FOUR_CPUS)
    assert {len(block.arms) for block in made.blocks if block.case.trains} == {1}
    with pytest.raises(LevelfieldError) as caught:
        make(Selection(backends=("onnxruntime", "openvino"), scenarios=("training",)), available=FOUR_CPUS)
    assert caught.value.message.startswith("onnxruntime, openvino cannot train")
    assert "torch, torch-compile, tensorflow" in caught.value.fix
    with pytest.raises(LevelfieldError, match="only one can do that"):
        pair(Selection(scenarios=("training",)), "jax", "openvino", available=FOUR_CPUS)
    assert len(pair(Selection(), "jax", "torch", available=FOUR_CPUS).blocks) == 7
