"""Where arms compute, decided from locks, driver and GPUs before anything is fetched."""

import pytest

from levelfield import plan
from levelfield.compatibility.gate import Gpu, Nvidia
from levelfield.errors import LevelfieldError
from levelfield.plan import Selection, make, pair

CPUS = (0, 1)
NONE = Nvidia(driver=None, problem="there is no NVIDIA driver here (its library, NVML, is not found)")
HOPPER = Gpu(0, "NVIDIA H100", "9.0")
SLICED = Gpu(0, "NVIDIA H100", "9.0", mig=True)
PROHIBITED = Gpu(0, "NVIDIA H100", "9.0", prohibited=True)
MISMATCHED = Nvidia(driver=None, problem="the driver was updated, and the machine not restarted", fix="Restart it.")


def nvidia(driver: str = "595.58.03", *gpus: Gpu) -> Nvidia:
    return Nvidia(driver=driver, gpus=gpus or (HOPPER,))


def arms(made: plan.Plan) -> set[str]:
    return {arm.id for block in made.blocks for arm in block.arms if arm.ordinal == 1}


def test_a_gpu_is_used_where_there_is_one() -> None:
    made = make(Selection(variant="auto", scenarios=("latency",)), available=CPUS, here=nvidia())
    assert made.gpu == 0
    assert {block.case.device for block in made.blocks} == {"cuda"}
    assert arms(made) == {
        "torch@cu13", "torch-compile@cu13", "tensorflow@cu12", "tensorflow-xla@cu12", "jax@cu13", "onnxruntime@cu13",
    }  # fmt: skip
    assert made.blocks[0].case.id.endswith("/cuda")
    assert made.images == ("torch@cu13", "tensorflow@cu12", "jax@cu13", "onnxruntime@cu13", "canary")
    (warning,) = made.warnings
    assert (warning.code, "openvino" in warning.message) == ("left-out", True)
    assert "tensorrt" not in warning.message, "what is not locked yet is not missed"


def test_a_driver_that_is_broken_is_said_and_the_cpu_taken() -> None:
    made = make(Selection(variant="auto"), available=CPUS, here=MISMATCHED)
    assert made.gpu is None
    (warning,) = made.warnings
    assert warning.code == "gpu-not-used"
    assert "the machine not restarted" in warning.message
    assert warning.remedy == "Restart it."
    assert make(Selection(), available=CPUS, here=MISMATCHED).warnings == (), "who asks for the CPU is told nothing"


@pytest.mark.parametrize(
    ("here", "variant"),
    [
        (nvidia("580.95.05"), "cu13"),
        (nvidia("570.124.06"), "cu12"),
        (nvidia("595.58.03", Gpu(0, "Tesla V100", "7.0")), "cu12"),
    ],
)
def test_driver_and_gpu_choose_the_variant(here: Nvidia, variant: str) -> None:
    made = make(Selection(variant="auto", backends=("jax",)), available=CPUS, here=here)
    assert arms(made) == {f"jax@{variant}"}


def test_a_gpu_that_nothing_runs_on_leaves_the_cpu_and_a_warning() -> None:
    made = make(Selection(variant="auto"), available=CPUS, here=nvidia("470.57.02"))
    assert made.gpu is None
    assert {block.case.device for block in made.blocks} == {"cpu"}
    (warning,) = made.warnings
    assert warning.code == "gpu-not-used"
    assert "needs the driver 525.60.13 or newer, and this machine has 470.57.02" in warning.message
    sliced = make(Selection(variant="auto"), available=CPUS, here=nvidia("595.58.03", SLICED))
    assert "cut into slices" in sliced.warnings[0].message
    assert "-mig 0" in sliced.warnings[0].remedy


@pytest.mark.parametrize(
    ("selection", "here", "message", "fix"),
    [
        (Selection(variant="auto", gpu="0"), NONE, "No NVIDIA driver answers here", "Leave out --gpu"),
        (Selection(variant="auto", gpu="0"), nvidia("470.57.02"), "needs the driver 525", "Install the driver"),
        (Selection(variant="auto", gpu="0"), nvidia("595.58.03", PROHIBITED), "is PROHIBITED", "-c DEFAULT"),
        (Selection(variant="auto", gpu="3"), nvidia(), "There is no GPU 3 here.", "GPU 0 (NVIDIA H100, 9.0)"),
        (Selection(variant="auto", gpu="0"), nvidia("595.58.03", SLICED), "MIG is on", "nvidia-smi -i 0 -mig 0"),
        (Selection(gpu="0"), nvidia(), "--gpu asks for a GPU, and --variant cpu for none", "Leave one"),
        (Selection(backends=("torch@cu13",)), nvidia(), "torch@cu13 asks for a GPU", "Leave one"),
        (Selection(variant="cu13", backends=("tensorflow",)), nvidia(), "tensorflow has no cu13.", "--backends"),
        (Selection(variant="auto", gpu="0", backends=("openvino",)), nvidia(), "no CUDA variant", "--variant cpu"),
        (Selection(scenarios=("latency-device",)), NONE, "latency-device keeps inputs", "--gpu 0"),
        (Selection(variant="auto", backends=("tensorrt",)), NONE, "GPUs only", "doctor"),
    ],
)
def test_what_cannot_be_is_said_before_anything_is_fetched(
    selection: Selection, here: Nvidia, message: str, fix: str
) -> None:
    with pytest.raises(LevelfieldError) as caught:
        make(selection, available=CPUS, here=here)
    assert message in caught.value.message
    assert fix in caught.value.fix


def test_two_variants_side_by_side() -> None:
    made = pair(Selection(variant="auto"), "torch@cu12", "torch@cu13", available=CPUS, here=nvidia())
    assert [arm.id for arm in made.blocks[0].arms] == ["torch@cu12", "torch@cu13"]
    twice = pair(Selection(variant="auto"), "torch", "torch", available=CPUS, here=nvidia())
    assert [arm.id for arm in twice.blocks[0].arms] == ["torch@cu13", "torch@cu13#2"]
    one = pair(Selection(variant="auto"), "torch", "torch@cu12", available=CPUS, here=nvidia())
    assert [arm.id for arm in one.blocks[0].arms] == ["torch@cu13", "torch@cu12"]
    assert {block.case.device for block in one.blocks} == {"cuda"}


# ---- the command, with a driver that answers through ctypes ----------------------------------------------------------
