"""Each rule of the table, once where it fires and once where it does not; and who is warned of a framework."""

import msgspec
import pytest

from levelfield import analysis, plan
from levelfield.compatibility.gate import Gpu, read
from levelfield.compatibility.libraries import between, cuda_release, known_wrong, libraries, matching, not_of_the_lock
from levelfield.plan import Selection
from levelfield.record import warnings as notices
from levelfield.record.schema import Absent, Arm, Fingerprint, Image, Launch, Library, Warning_
from levelfield.report import html
from tests.compatibility.machines import H100, TABLE
from tests.records_builder import make_image, make_run

B200 = Gpu(0, "NVIDIA B200", "10.0")


RTX_5090 = Gpu(0, "NVIDIA GeForce RTX 5090", "12.0")
UNKNOWN = Gpu(0, "A new one", None)


CUBLAS, CUDNN = "cuBLAS", "cuDNN"


@pytest.mark.parametrize(
    ("versions", "gpus", "precision", "begins"),
    [
        ({CUBLAS: "12.8.4.1"}, [B200], None, ["many"]),  # it frees tensor memory twice
        ({CUBLAS: "13.2.1.1"}, [B200], None, []),
        ({CUBLAS: "12.8.4.1"}, [H100], None, []),
        ({CUBLAS: "12.8.4.1"}, [UNKNOWN], None, []),
        ({CUDNN: "9.10.0.56"}, [H100], None, ["values"]),  # it moved its enumeration
        ({CUDNN: "9.10.1.4"}, [H100], None, []),
        ({CUDNN: "9.9.0.52"}, [H100], None, []),
        ({CUDNN: "9.9.0.52", CUBLAS: "12.9.0.13"}, [H100, H100], None, ["matrix"]),
        ({CUDNN: "9.9.0.52", CUBLAS: "12.9.0.13"}, [H100], None, []),
        ({CUDNN: "9.9.0.52"}, [H100, H100], None, []),
        ({CUBLAS: "13.4.0.1"}, [RTX_5090], "nvfp4", ["cublasLtMatmul"]),  # it leaves out a scale
        ({CUBLAS: "13.4.0.1"}, [RTX_5090], "bf16", []),
        ({CUBLAS: "13.3.0.5"}, [RTX_5090], "nvfp4", []),
    ],
)
def test_a_rule_fires_where_it_should_alone(
    versions: dict[str, str], gpus: list[Gpu], precision: str | None, begins: list[str]
) -> None:
    assert [rule.effect.split()[0] for rule in matching(TABLE, versions, gpus, precision=precision)] == begins


def test_wheels_and_their_libraries() -> None:
    wheels = {
        "nvidia-cublas-cu12": "12.8.4.1", "nvidia_cudnn_cu13": "9.26.0.51", "nvidia-cuda-runtime-cu12": "12.8.90",
        "nvidia-nccl-cu12": "2.30.7", "nvidia-ml-py": "13.615.71", "numpy": "2.4.6",
        "nvidia-cudnn-frontend": "not a version",
    }  # fmt: skip
    assert libraries(wheels) == {
        "cuBLAS": "12.8.4.1", "cuDNN": "9.26.0.51", "CUDA runtime": "12.8.90", "NCCL": "2.30.7",
    }  # fmt: skip
    assert cuda_release(wheels) == "12.8"
    assert cuda_release({**wheels, "cuda-toolkit": "12.8.1"}) == "12.8.1"
    assert cuda_release({"numpy": "2.4.6"}) is None
    assert libraries({"nvidia-cublas": "13.x"}) == {}


LOCKED = {"nvidia-cudnn-cu13": "9.26.0.51", "nvidia-cublas": "13.4.1.3", "nvidia-cuda-runtime": "13.2.86"}
IMAGE = Image(name="torch", variant="cu13", launcher="docker", distributions=LOCKED)


def launch(*libraries: tuple[str, str, str]) -> Launch:
    return Launch("torch@cu13", "2026-11-21T10:00:00Z", libraries=tuple(Library(*each) for each in libraries))


GOOD = (
    ("libcudnn.so.9 (cuDNN 9.26.0)", "nvidia/cudnn/lib/libcudnn.so.9", "cuDNN"),
    ("libcublas.so.13 (cuBLAS 13.4.1)", "nvidia/cu13/lib/libcublas.so.13", "cuBLAS"),
    ("libcudart.so.13 (CUDA runtime 13.2)", "nvidia/cu13/lib/libcudart.so.13", "CUDA"),
    ("libcuda.so.1 (CUDA of the driver 13.1)", "libcuda.so.1", "CUDA"),
    ("libgomp.so.1", "libgomp.so.1", "OpenMP"),
)


def test_the_locked_libraries_and_the_drivers_own_are_no_strangers() -> None:
    assert list(not_of_the_lock(launch(*GOOD), IMAGE)) == []


def test_another_version() -> None:
    (said,) = not_of_the_lock(launch(("libcudnn.so.9 (cuDNN 9.10.2)", "other/libcudnn.so.9", "cuDNN")), IMAGE)
    assert said == "cuDNN 9.10.2 was loaded (other/libcudnn.so.9), and 9.26.0.51 is locked"
    assert list(not_of_the_lock(launch(("libcudnn.so.9 (cuDNN 9.2)", "o/libcudnn.so.9", "cuDNN")), IMAGE)), (
        "9.2 is not 9.26"
    )


def test_the_report_warns_once_an_arm() -> None:
    run = make_run(models=("mlp",), backends=("torch",), scenarios=("latency",))
    (block,) = run.blocks
    arm = Arm(backend="torch", image="torch", variant="cu13")
    bad = launch(("libcudnn.so.9", "libcudnn.so.9", "cuDNN"))
    generations = tuple(msgspec.structs.replace(each, launches=(bad,), rounds=()) for each in block.generations)
    case = msgspec.structs.replace(block.case, device="cuda")
    changed = msgspec.structs.replace(
        run, images=(IMAGE,), blocks=(msgspec.structs.replace(block, case=case, arms=(arm,), generations=generations),)
    )
    found = [each for each in analysis.analyse(changed).warnings if each.code == "library-shadowed"]
    assert [each.about for each in found] == ["torch@cu13"]


def side(driver: str | None, name: str = "NVIDIA H100", capability: str = "9.0") -> Fingerprint:
    if driver is None:
        return {"gpu": {"driver": Absent("there is none")}}
    return {"gpu": {"driver": driver, "devices": 1, "device 0 name": name, "device 0 compute capability": capability}}


def image(**distributions: str) -> Image:
    named = {name.replace("_", "-"): version for name, version in distributions.items()}
    return msgspec.structs.replace(make_image("torch", "docker"), variant="cu13", distributions=named)


CU13 = image(cuda_toolkit="13.0.2", nvidia_cublas="13.1.0.3", nvidia_cudnn_cu13="9.13.0.50")


def codes(found: tuple[Warning_, ...]) -> list[str]:
    return [one.code for one in found]


def test_a_driver_that_went_back_or_away() -> None:
    (back,) = between(TABLE, side("590.48.01"), side("580.95.05"))
    assert back.message == "The NVIDIA driver went back from 590.48.01 to 580.95.05."
    assert codes(between(TABLE, side("590.48.01"), side(None))) == ["driver-on-one-side"]
    assert codes(between(TABLE, side(None), side("590.48.01"))) == ["driver-on-one-side"]


def test_a_newer_image_on_an_older_driver() -> None:
    newer = image(cuda_toolkit="13.1.1")
    (found,) = between(TABLE, side("580.95.05"), side("580.95.05"), old_images=[CU13], new_images=[newer])
    assert found.code == "cuda-misfit"
    assert "minor-version compatibility" in found.message
    assert found.about == "torch cu13"
    assert found.remedy
    (too_old,) = between(TABLE, side("570.26"), side("570.26"), new_images=[newer])
    assert "needs the driver 580.65.06" in too_old.message


def test_a_cuda_build_that_computes_on_the_cpu_needs_no_driver() -> None:
    on_cpu = msgspec.structs.replace(CU13, variant="cpu")
    assert between(TABLE, side(None), side(None), old_images=[on_cpu], new_images=[on_cpu]) == ()
    assert codes(between(TABLE, side(None), side(None), new_images=[CU13])) == ["cuda-misfit"]


@pytest.mark.parametrize(
    ("versions", "backend", "issues"),
    [
        ({"jax": "0.10.2"}, "jax", ["jax-ml/jax 39103"]),
        ({"jax": "0.10.1"}, "jax", []),
        ({"jax": "0.12.0.1"}, None, []),
        ({"tensorflow-cpu": "2.21.0"}, "tensorflow-xla", ["tensorflow/tensorflow 118178"]),
        ({"tensorflow-cpu": "2.21.0"}, "tensorflow", []),
        ({"tensorflow-cpu": "2.21.0"}, None, ["tensorflow/tensorflow 118178"]),
        ({"onnxruntime": "1.25.9"}, None, ["microsoft/onnxruntime 26708"]),
        ({"onnxruntime": "1.26.0"}, None, []),
        ({"onnxruntime": "from a fork"}, None, []),
        ({}, None, []),
    ],
)
def test_which_versions_are_known(versions: dict[str, str], backend: str | None, issues: list[str]) -> None:
    found = known_wrong(read(), versions, backend)
    assert [each.row.issue for each in found] == issues


def test_a_run_warns_before_it_begins_of_the_arm() -> None:
    chosen = Selection("smoke", models=("mlp",), backends=("jax", "jax@0.10.2", "onnxruntime"))
    (warning,) = [each for each in plan.make(chosen, available=[0, 1]).warnings if each.code == notices.KNOWN_WRONG]
    assert warning.about == "jax@0.10.2"
    assert warning.message.startswith("jax 0.10.2 is known to answer wrongly on CPUs: ")
    assert "jax-ml/jax 39103" in warning.message


def test_the_report_says_it_beside_the_arm_too() -> None:
    run = make_run(models=("mlp",), backends=("jax", "onnxruntime"), scenarios=("latency",))
    warning = notices.known_wrong("jax", "jax 0.10.2 is known to answer wrongly.", "Use another.")
    page = html.render(run, analysis.analyse(run))
    assert "known to answer wrongly" not in page, "records made before stay as they are"
    run = msgspec.structs.replace(run, warnings=(*run.warnings, warning))
    page = html.render(run, analysis.analyse(run))
    assert page.count("jax 0.10.2 is known to answer wrongly.") >= 2
    assert "jax: jax 0.10.2 is known to answer wrongly." in page
