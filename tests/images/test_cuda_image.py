"""CUDA images, made for real where somebody asks for it: they fetch gigabytes, and need no GPU.

`LEVELFIELD_BUILD_CUDA=1` builds the smallest one (ONNX Runtime with NVIDIA's plug-in for TensorRT-RTX, 0.2 GB);
`LEVELFIELD_BUILD_CUDA=all` also the smallest that brings CUDA, cuBLAS and cuDNN as wheels of their own (ONNX Runtime,
1.6 GB).
"""

import json
import os
from typing import Any

import docker
import pytest

from levelfield.backends import registry
from levelfield.images import catalogue
from levelfield.images.build import build, estimate

ASKED = "LEVELFIELD_BUILD_CUDA"

pytestmark = [
    pytest.mark.docker,
    pytest.mark.skipif(
        os.environ.get(ASKED) not in {"1", "all"}, reason=f"It fetches 0.2 GB or more: set {ASKED}=1 (or all) to build."
    ),
]

FOUND = """
import json
from importlib.metadata import distributions
found = sorted((d.name.lower().replace("_", "-"), d.version) for d in distributions())
"""
CUDA = (
    FOUND
    + """
import onnxruntime
onnxruntime.preload_dlls()
from levelfield.worker.libraries import libraries, mapped
loaded = libraries(mapped(open("/proc/self/maps").read()))
print(json.dumps({
    "found": found,
    "providers": onnxruntime.get_available_providers(),
    "cuda": [[each.name, each.path] for each in loaded if each.kind in ("CUDA", "cuDNN", "cuBLAS")],
}))
"""
)
PLUGIN = (
    FOUND
    + """
import ctypes, pathlib, onnxruntime_ep_nv_tensorrt_rtx as plugin
from levelfield.backends import registry
from levelfield.backends.onnxruntime_tensorrt_rtx import let_find_each_other
from levelfield.backends.protocol import Options, Unsupported
path = pathlib.Path(plugin.get_library_path())
let_find_each_other(path.parent)
missing = []
for name in ("libcudart.so.13", "libtensorrt_rtx.so", "libtensorrt_onnxparser_rtx.so", str(path)):
    try:
        ctypes.CDLL(name)
    except OSError as error:
        missing.append(str(error))
try:
    registry.create("onnxruntime-tensorrt-rtx", Options(threads=1, device="cuda"))
    refusal = ""
except Unsupported as error:
    refusal = str(error)
print(json.dumps({
    "found": found,
    "provider": plugin.get_ep_name(),
    "bytes": sum(file.stat().st_size for file in path.parent.glob("*.so*")),
    "missing": missing,
    "refusal": refusal,
}))
"""
)


def said(engine: docker.DockerClient, image: str, variant: str, code: str) -> dict[str, Any]:
    """Build an image, and ask a program in it, with no network and no GPU."""
    built = build(image, variant)
    output = engine.containers.run(
        built.tag,
        ["-P", "-c", code],
        entrypoint="/opt/levelfield/env/bin/python",
        network_mode="none",
        read_only=True,
        tmpfs={"/tmp": "exec"},
        environment=registry.environment(image),
        cap_drop=["ALL"],
        remove=True,
    )
    assert isinstance(output, bytes)
    inside = json.loads(output.splitlines()[-1])
    assert isinstance(inside, dict)
    assert inside["found"] == [[pin.name, pin.version] for pin in catalogue.lock(image, variant).pins]
    assert estimate([f"{image}@{variant}"]).making == ()
    return inside


def test_the_smallest_image_holds_its_locked_plugin(engine: docker.DockerClient) -> None:
    inside = said(engine, "onnxruntime-tensorrt-rtx", "cu13", PLUGIN)
    assert "tensorrt" in inside["provider"].lower()
    assert inside["bytes"] > 100 << 20, "TensorRT-RTX itself is in it"
    # All that may be missing is what comes with the driver.
    assert all("libcuda.so.1" in each for each in inside["missing"]), inside["missing"]
    assert len(inside["missing"]) <= 1
    assert "to run on a GPU and sees none" in inside["refusal"]


@pytest.mark.skipif(os.environ.get(ASKED) != "all", reason=f"It fetches 1.6 GB: set {ASKED}=all to build it.")
@pytest.mark.parametrize("variant", ["cu13"])
def test_the_onnxruntime_image_holds_its_locked_cuda(engine: docker.DockerClient, variant: str) -> None:
    inside = said(engine, "onnxruntime", variant, CUDA)
    lock = catalogue.lock("onnxruntime", variant)
    assert "CUDAExecutionProvider" in inside["providers"]
    versions = " ".join(name for name, _ in inside["cuda"])
    cudnn = next(pin.version for pin in lock.pins if pin.name.startswith("nvidia-cudnn"))
    assert f"cuDNN {'.'.join(cudnn.split('.')[:3])}" in versions, inside["cuda"]
    assert f"CUDA runtime {'.'.join(lock.versions['cuda-toolkit'].split('.')[:2])}" in versions
    assert all("/" in path for _, path in inside["cuda"]), "nothing comes from elsewhere"
