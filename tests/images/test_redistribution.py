"""Which distributions may not be passed on at will."""

import pytest

from levelfield.images import catalogue
from levelfield.images.redistribution import restricted


def test_no_image_for_the_cpu_holds_any() -> None:
    names = [(name, key) for name in catalogue.images() for key in catalogue.lock_names(name) if key[0] == "cpu"]
    assert len(names) > 10
    for name, (variant, version) in names:
        assert not restricted(catalogue.lock(name, variant, version).versions), (name, version)


@pytest.mark.parametrize(
    ("image", "variant", "holds"),
    [
        ("torch", "cu12", "nvidia-cudnn-cu12"),
        ("torch", "cu12", "cuda-bindings"),
        ("jax", "cu13", "nvidia-cublas"),
        ("onnxruntime", "cu12", "nvidia-cuda-runtime-cu12"),
        ("onnxruntime-tensorrt-rtx", "cu13", "onnxruntime-ep-nv-tensorrt-rtx-cu13"),
    ],
)
def test_images_for_gpus_do(image: str, variant: str, holds: str) -> None:
    found = restricted(catalogue.lock(image, variant).versions)
    assert holds in found
    assert "nvidia-ml-py" not in found, "the bindings of NVML are under BSD, and every image has them"


def test_so_do_those_of_no_lock_here() -> None:
    asked = [
        "mkl",
        "mkl-service",
        "intel-openmp",
        "tensorrt",
        "tensorrt-cu13-libs",
        "numpy",
        "tensorflow",
        "cuda-toolkit",
    ]
    assert restricted(asked) == ("intel-openmp", "mkl", "mkl-service", "tensorrt", "tensorrt-cu13-libs")
