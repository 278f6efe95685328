import msgspec

from levelfield import analysis
from levelfield.compatibility.loaded import not_of_the_lock
from levelfield.record.schema import Arm, Image, Launch, Library
from tests.records_builder import make_run

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


def test_a_library_of_the_system() -> None:
    (said,) = not_of_the_lock(launch(*GOOD, ("libcublasLt.so.13", "libcublasLt.so.13", "cuBLAS")), IMAGE)
    assert said == "libcublasLt.so.13 was loaded from the system, and not from the locked wheels"


def test_another_version() -> None:
    (said,) = not_of_the_lock(launch(("libcudnn.so.9 (cuDNN 9.10.2)", "other/libcudnn.so.9", "cuDNN")), IMAGE)
    assert said == "cuDNN 9.10.2 was loaded (other/libcudnn.so.9), and 9.26.0.51 is locked"
    assert list(not_of_the_lock(launch(("libcudnn.so.9 (cuDNN 9.2)", "o/libcudnn.so.9", "cuDNN")), IMAGE)), (
        "9.2 is not 9.26"
    )


def test_where_nothing_is_locked_nothing_is_said() -> None:
    host = msgspec.structs.replace(IMAGE, launcher="host")
    assert list(not_of_the_lock(launch(("libcudnn.so.9 (cuDNN 9.1.0)", "libcudnn.so.9", "cuDNN")), host)) == []


def test_the_report_warns_once_an_arm() -> None:
    run = make_run(models=("mlp",), backends=("torch",), scenarios=("latency",))
    (block,) = run.blocks
    arm = Arm(backend="torch", image="torch", variant="cu13")
    bad = launch(("libcudnn.so.9", "libcudnn.so.9", "cuDNN"))
    generations = tuple(msgspec.structs.replace(each, launches=(bad,), rounds=()) for each in block.generations)
    case = msgspec.structs.replace(block.case, device="cuda")
    changed = msgspec.structs.replace(
        run,
        images=(IMAGE,),
        blocks=(msgspec.structs.replace(block, case=case, arms=(arm,), generations=generations),),
    )
    found = [each for each in analysis.analyse(changed).warnings if each.code == "library-shadowed"]
    assert [each.about for each in found] == ["torch@cu13"]
