"""Which models are measured in batches and trained, and that one item at a time is never called throughput."""

import shlex
import shutil
from pathlib import Path

import msgspec
import pytest

from levelfield import scenarios
from levelfield.cli.measure import bench
from levelfield.errors import LevelfieldError
from levelfield.options import rerun
from levelfield.plan import Plan, Selection, make, pair
from levelfield.plan.batches import MAX_BATCH, checked
from levelfield.plan.profiles import PROFILES
from levelfield.record.schema import Case
from tests import plugged
from tests.records_builder import make_run

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


def test_one_item_is_no_throughput_on_a_device_either() -> None:
    for name in scenarios.NAMES:
        case = Case("mlp", name, "fp32", 1, 1)
        assert case.one_by_one == (name in {"throughput", "throughput-device"})


@pytest.mark.parametrize("scenario", ["training", "data-pipeline", "latency"])
def test_one_item_is_taken_where_it_is_not_latency(scenario: str) -> None:
    made = make(Selection(scenarios=(scenario,), models=("mlp",), batches=(1,)), available=CPUS)
    assert [block.case.batch for block in made.blocks] == [1]


def test_batches_of_a_record_are_all_there_is() -> None:
    recorded = Selection(scenarios=("latency", "throughput"), batches_of={"bert": (1,), "mlp": (64,)})
    assert throughput(make(recorded, available=CPUS)) == {"bert": (1,), "mlp": (64,)}


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
    run = make_run(scenarios=("memory",), generations=1, rounds=1)
    settings = msgspec.structs.replace(
        run.settings,
        profile=made.profile.name,
        models=made.models,
        backends=made.backends,
        scenarios=made.scenarios,
        batches=made.batches,
        training_batches=made.training_batches,
    )
    words = shlex.split(rerun(msgspec.structs.replace(run, settings=settings, blocks=made.blocks)))
    typed = bench.make_context("bench", words[2:]).params
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


def test_batches_keep_their_order_and_stand_once() -> None:
    assert checked((8, 1, 8, MAX_BATCH)) == (8, 1, MAX_BATCH)
    assert checked(()) == ()


@pytest.mark.parametrize("batch", [-1, 0, MAX_BATCH + 1])
def test_a_batch_out_of_range_is_refused(batch: int) -> None:
    with pytest.raises(LevelfieldError, match=f"A batch of {batch} cannot be measured"):
        checked((1, batch))


def test_a_model_of_a_plug_in_has_the_batches_that_it_names(tmp_path: Path) -> None:
    project = tmp_path / "project"
    shutil.copytree(plugged.TEMPLATE, project)
    spec = project / "levelfield_example" / "linear" / "spec.py"
    spec.write_text(spec.read_text().replace('"standard": (8,), ', ""))
    chosen = Selection(profile="smoke", models=("linear",), backends=("torch",), scenarios=("throughput",))
    with plugged.seen(plugged.install(project, tmp_path / "installed")):
        assert throughput(make(chosen, available=CPUS)) == {"linear": (8,)}
        with pytest.raises(LevelfieldError, match="linear names no batches for the profile standard"):
            make(msgspec.structs.replace(chosen, profile="standard"), available=CPUS)


def trainings(selection: Selection) -> list[str]:
    return [block.case.id for block in make(selection, available=FOUR_CPUS).blocks if block.case.trains]


def test_trainings_to_a_target_have_one_batch_and_one_launch_a_seed() -> None:
    made = make(Selection(scenarios=("convergence",)), available=FOUR_CPUS)
    assert [block.case.id for block in made.blocks] == [
        "mlp/convergence/fp32/b64/t4/cpu",
        "resnet50/convergence/fp32/b64/t4/cpu",
    ]
    for block in made.blocks:
        assert [arm.id for arm in block.arms] == ["torch", "torch-compile", "tensorflow", "tensorflow-xla", "jax"]
        assert (block.planned_generations, block.canary) == (5, None), "a ranking takes five seeds"
    assert not made.files
    batches = make(Selection(scenarios=("convergence",), models=("mlp",), batches=(8,)), available=FOUR_CPUS)
    assert [block.case.batch for block in batches.blocks] == [64], "a batch is one of the hyper-parameters"
    for name, has in (("smoke", False), ("standard", False), ("full", True)):
        assert ("convergence" in PROFILES[name].scenarios) == has
    asked = pair(Selection(scenarios=("convergence",), models=("mlp",)), "jax", "torch", available=FOUR_CPUS)
    assert [arm.id for arm in asked.blocks[0].arms] == ["jax", "torch"]


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


def test_training_has_the_precisions_in_which_somebody_trains() -> None:
    both = Selection(scenarios=("training",), models=("mlp",), precisions=("fp32", "bf16"))
    assert trainings(both) == ["mlp/training/fp32/b1000/t4/cpu", "mlp/training/bf16/b1000/t4/cpu"]
    beside = Selection(scenarios=("latency", "training"), models=("mlp",), precisions=("bf16", "int8"))
    assert trainings(beside) == ["mlp/training/bf16/b1000/t4/cpu"], "in int8 there is latency alone"
    to_target = make(
        Selection(scenarios=("convergence",), models=("mlp",), precisions=("fp32", "bf16")), available=FOUR_CPUS
    )
    assert [block.case.precision for block in to_target.blocks] == ["fp32", "bf16"]
    only = Selection(scenarios=("training", "latency"), models=("mlp",), precisions=("int8",))
    with pytest.raises(LevelfieldError, match="No backend here trains in int8"):
        make(only, available=FOUR_CPUS)


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
