"""The smallest CUDA image, made for real where somebody asks for it: it fetches 1.6 GB, and needs no GPU."""

import json
import os

import docker
import pytest

from suite.images import catalogue
from suite.images.build import build
from suite.images.cost import estimate

ASKED = "LEVELFIELD_BUILD_CUDA"

pytestmark = [
    pytest.mark.docker,
    pytest.mark.slow,
    pytest.mark.skipif(os.environ.get(ASKED) != "1", reason=f"It fetches 1.6 GB: set {ASKED}=1 to build it."),
]

INSIDE = """
import json
from importlib.metadata import distributions
import onnxruntime
onnxruntime.preload_dlls()
from suite.worker.libraries import libraries, mapped
loaded = libraries(mapped(open("/proc/self/maps").read()))
print(json.dumps({
    "found": sorted((d.name.lower(), d.version) for d in distributions()),
    "providers": onnxruntime.get_available_providers(),
    "cuda": [[each.name, each.path] for each in loaded if each.kind in ("CUDA", "cuDNN", "cuBLAS")],
}))
"""


@pytest.mark.parametrize("variant", ["cu13"])
def test_the_onnxruntime_image_holds_its_locked_cuda(engine: docker.DockerClient, variant: str) -> None:
    built = build("onnxruntime", variant)
    output = engine.containers.run(
        built.tag,
        ["-P", "-c", INSIDE],
        entrypoint="/opt/levelfield/env/bin/python",
        network_mode="none",
        read_only=True,
        tmpfs={"/tmp": "exec"},
        cap_drop=["ALL"],
        remove=True,
    )
    inside = json.loads(output.splitlines()[-1])
    lock = catalogue.lock("onnxruntime", variant)
    assert inside["found"] == [[pin.name, pin.version] for pin in lock.pins]
    assert "CUDAExecutionProvider" in inside["providers"]
    versions = " ".join(name for name, _ in inside["cuda"])
    cudnn = next(pin.version for pin in lock.pins if pin.name.startswith("nvidia-cudnn"))
    assert f"cuDNN {'.'.join(cudnn.split('.')[:3])}" in versions, inside["cuda"]
    assert f"CUDA runtime {'.'.join(lock.versions['cuda-toolkit'].split('.')[:2])}" in versions
    assert all("/" in path for _, path in inside["cuda"]), "nothing comes from elsewhere"
    assert estimate([f"onnxruntime@{variant}"]).making == ()
