"""A CUDA image, made for real where somebody asks for it: it fetches 0.2 GB, and needs no GPU."""

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
    pytest.mark.skipif(os.environ.get(ASKED) != "1", reason=f"It fetches 0.2 GB or more: set {ASKED}=1 to build."),
]

FOUND = """
import json
from importlib.metadata import distributions
found = sorted((d.name.lower().replace("_", "-"), d.version) for d in distributions())
"""
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
