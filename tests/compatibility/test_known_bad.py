"""Each rule of the table, once where it fires and once where it does not."""

import pytest

from levelfield.compatibility import table
from levelfield.compatibility.devices import Gpu
from levelfield.compatibility.known_bad import cuda_release, libraries, matching, sentence

TABLE = table.read()
H100 = Gpu(0, "NVIDIA H100", "9.0")
B200 = Gpu(0, "NVIDIA B200", "10.0")
THOR = Gpu(0, "NVIDIA Thor", "11.0")
RTX_5090 = Gpu(0, "NVIDIA GeForce RTX 5090", "12.0")
UNKNOWN = Gpu(0, "A new one", None)


def effects(versions: dict[str, str], *gpus: Gpu, precision: str | None = None) -> list[str]:
    return [rule.effect.split()[0] for rule in matching(TABLE, versions, gpus, precision=precision)]


@pytest.mark.parametrize(
    ("version", "gpu", "fires"),
    [
        ("12.8.4.1", B200, True),
        ("13.1.0.3", B200, True),
        ("12.8", THOR, True),
        ("12.7.9", B200, False),
        ("13.2.1.1", B200, False),
        ("12.8.4.1", H100, False),
        ("12.8.4.1", RTX_5090, False),
        ("12.8.4.1", UNKNOWN, False),
    ],
)
def test_cublas_frees_tensor_memory_twice(version: str, gpu: Gpu, fires: bool) -> None:
    assert effects({"cuBLAS": version}, gpu) == (["many"] if fires else [])


def test_it_fires_where_one_of_several_gpus_is_concerned() -> None:
    assert effects({"cuBLAS": "12.8.4.1"}, H100, B200) == ["many"]


@pytest.mark.parametrize(
    ("version", "fires"), [("9.10.0", True), ("9.10.0.56", True), ("9.10.1.4", False), ("9.9.0.52", False)]
)
def test_cudnn_moved_its_enumeration(version: str, fires: bool) -> None:
    assert effects({"cuDNN": version}, H100) == (["values"] if fires else [])


@pytest.mark.parametrize(
    ("cudnn", "cublas", "gpus", "fires"),
    [
        ("9.9.0.52", "12.9.0.13", 2, True),
        ("9.9.0.52", "12.9.0.13", 1, False),
        ("9.9.0.52", "12.8.4.1", 2, False),
        ("9.10.1.4", "12.9.0.13", 2, False),
        ("9.9.0.52", None, 2, False),
    ],
)
def test_cudnn_on_several_gpus(cudnn: str, cublas: str | None, gpus: int, fires: bool) -> None:
    versions = {"cuDNN": cudnn} | ({"cuBLAS": cublas} if cublas else {})
    assert effects(versions, *([H100] * gpus)) == (["matrix"] if fires else [])


@pytest.mark.parametrize(
    ("version", "precision", "fires"),
    [
        ("13.4.0.1", "nvfp4", True),
        ("13.4.0.1", "bf16", False),
        ("13.4.0.1", None, False),
        ("13.4.1.2", "nvfp4", False),
        ("13.3.0.5", "nvfp4", False),
    ],
)
def test_cublas_leaves_out_a_scale(version: str, precision: str | None, fires: bool) -> None:
    assert effects({"cuBLAS": version}, RTX_5090, precision=precision) == (["cublasLtMatmul"] if fires else [])


def test_every_rule_of_the_table_is_tested_here() -> None:
    assert [rule.effect.split()[0] for rule in TABLE.known_bad] == ["many", "values", "matrix", "cublasLtMatmul"]


def test_a_rule_in_a_sentence() -> None:
    (rule,) = matching(TABLE, {"cuDNN": "9.10.0.56"}, [H100])
    text = sentence(rule, {"cuDNN": "9.10.0.56"})
    assert text.startswith("Version 9.10.0.56 of cuDNN is known to compute wrongly: values of an enumeration")
    assert "source: jax" in text


def test_wheels_and_their_libraries() -> None:
    wheels = {
        "nvidia-cublas-cu12": "12.8.4.1",
        "nvidia_cudnn_cu13": "9.26.0.51",
        "nvidia-cuda-runtime-cu12": "12.8.90",
        "nvidia-nccl-cu12": "2.30.7",
        "nvidia-ml-py": "13.615.71",
        "numpy": "2.4.6",
        "nvidia-cudnn-frontend": "not a version",
    }
    assert libraries(wheels) == {
        "cuBLAS": "12.8.4.1",
        "cuDNN": "9.26.0.51",
        "CUDA runtime": "12.8.90",
        "NCCL": "2.30.7",
    }
    assert cuda_release(wheels) == "12.8"
    assert cuda_release({**wheels, "cuda-toolkit": "12.8.1"}) == "12.8.1"
    assert cuda_release({"numpy": "2.4.6"}) is None
    assert libraries({"nvidia-cublas": "13.x"}) == {}
