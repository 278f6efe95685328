"""CUDA and cuDNN of the host."""

from pathlib import Path
from typing import Any

import docker
import pytest

from levelfield.compatibility.gate import Gpu, Nvidia
from levelfield.machine import cuda
from levelfield.machine.cuda import host_libraries
from levelfield.machine.engine import described
from levelfield.record.schema import Absent
from tests.machine.folders import write


def test_a_toolkit_and_a_library(tmp_path: Path) -> None:
    write(
        tmp_path,
        {
            "usr/local/cuda/version.json": '{"cuda": {"name": "CUDA SDK", "version": "12.8.1"}, "gdb": 1}',
            "usr/lib/x86_64-linux-gnu/libcudnn.so.9": "",
            "usr/lib/x86_64-linux-gnu/libcudnn.so.9.8.0": "",
            "usr/lib/x86_64-linux-gnu/libcudnn_ops.so.9.8.0": "",
        },
    )
    assert host_libraries(tmp_path) == {"CUDA toolkit": "12.8.1", "cuDNN": "9.8.0"}


HERE = Nvidia(driver="595.58.03", gpus=(Gpu(0, "NVIDIA H100", "9.0"),))
RUNC = {"io.containerd.runc.v2": {"path": "runc"}, "runc": {"path": "runc"}}
DEVICES = [
    {"Source": "cdi", "ID": "nvidia.com/gpu=0"},
    {"Source": "cdi", "ID": "nvidia.com/gpu=GPU-8de47821-9ed2-75e0-acc4-4646a03f8b35"},
    {"Source": "cdi", "ID": "nvidia.com/gpu=all"},
]


class Engine(docker.DockerClient):
    """An engine that says this of itself."""

    def __init__(self, **info: Any) -> None:
        self._info = info

    def info(self) -> dict[str, Any]:
        return self._info

    def version(self, api_version: bool = True) -> dict[str, Any]:  # noqa: ARG002  (the SDK's)
        return {"Version": "29.1.0", "ApiVersion": "1.52"}


@pytest.mark.parametrize(
    ("info", "says"),
    [
        ({"Runtimes": {**RUNC, "nvidia": {"path": "nvidia-container-runtime"}}}, "NVIDIA's runtime is among"),
        ({"Runtimes": RUNC, "DiscoveredDevices": DEVICES}, "nvidia.com/gpu"),
    ],
)
def test_an_engine_that_has_it_says_so_itself(info: dict[str, Any], says: str) -> None:
    (finding,) = cuda.toolkit_findings(described(Engine(**info)), HERE)
    assert finding.state == "ok"
    assert says in finding.message


def test_names_of_devices_are_not_kept_since_they_may_be_uuids() -> None:
    facts = described(Engine(DiscoveredDevices=[*DEVICES, {"ID": "vendor.org/fpga=1"}, {}, "rubbish", {"ID": ""}]))
    assert facts["CDI devices"] == "nvidia.com/gpu vendor.org/fpga"
    assert isinstance(described(Engine())["CDI devices"], Absent)
