"""CUDA and cuDNN of the host."""

from pathlib import Path
from typing import Any

import docker
import pytest

from levelfield.compatibility.devices import Gpu, Nvidia
from levelfield.machine import cuda
from levelfield.machine.cuda import host_libraries
from levelfield.machine.doctor import container_engine
from levelfield.machine.engine import described
from levelfield.machine.findings import Needs
from levelfield.record.schema import Absent
from tests.machine.fake_nvml import H100, ask, compile_library
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


def test_a_host_without_them(tmp_path: Path) -> None:
    facts = host_libraries(tmp_path)
    assert all(isinstance(fact, Absent) for fact in facts.values())


def test_a_damaged_description_is_absent_with_its_reason(tmp_path: Path) -> None:
    toolkit = host_libraries(write(tmp_path, {"usr/local/cuda/version.json": "{"}))["CUDA toolkit"]
    assert isinstance(toolkit, Absent)
    assert "version.json cannot be read" in toolkit.reason


HERE = Nvidia(driver="595.58.03", gpus=(Gpu(0, "NVIDIA H100", "9.0"),))
RUNC = {"io.containerd.runc.v2": {"path": "runc"}, "runc": {"path": "runc"}}
DEVICES = [
    {"Source": "cdi", "ID": "nvidia.com/gpu=0"},
    {"Source": "cdi", "ID": "nvidia.com/gpu=GPU-8de47821-9ed2-75e0-acc4-4646a03f8b35"},
    {"Source": "cdi", "ID": "nvidia.com/gpu=all"},
]


class Engine:
    """An engine that says this of itself."""

    def __init__(self, **info: Any) -> None:
        self._info = info

    def info(self) -> dict[str, Any]:
        return self._info

    def version(self) -> dict[str, Any]:
        return {"Version": "29.1.0", "ApiVersion": "1.52"}


def test_without_the_toolkit_the_fix_stands_beside_it() -> None:
    (finding,) = cuda.toolkit_findings(described(Engine(Runtimes=RUNC)), HERE)
    assert (finding.topic, finding.state) == ("GPU in containers", "warn")
    assert "neither NVIDIA's runtime nor a CDI device" in finding.message
    assert "nvidia-ctk runtime configure --runtime=docker" in finding.fix
    assert "--launcher venv" in finding.fix


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


@pytest.mark.parametrize("here", [Nvidia(driver=None, problem="none"), Nvidia(driver="595.58.03")])
def test_nothing_is_said_where_there_is_no_gpu(here: Nvidia) -> None:
    assert cuda.toolkit_findings(described(Engine(Runtimes=RUNC)), here) == []
    assert cuda.toolkit_findings({}, HERE) == []


@pytest.mark.docker
def test_this_engines_own_words(engine: docker.DockerClient) -> None:
    facts = container_engine(Needs()).facts
    (finding,) = cuda.toolkit_findings(facts, HERE)
    assert (finding.state == "ok") == ("nvidia" in engine.info()["Runtimes"] or facts["CDI devices"] == cuda.KIND)


def test_two_gpus_of_one_kind_are_no_matter(tmp_path: Path) -> None:
    found = ask(compile_library(tmp_path, gpus=(H100, H100)))
    assert [finding["state"] for finding in found["findings"]] == ["ok"]


def test_slices(tmp_path: Path) -> None:
    found = ask(compile_library(tmp_path, gpus=(H100._replace(mig=1),)))
    assert found["facts"]["device 0 MIG"] is True
    warning = found["findings"][1]
    assert (warning["topic"], warning["state"]) == ("GPU 0", "warn")
    assert "MIG is on" in warning["message"]
    assert "-mig 0" in warning["fix"]


@pytest.mark.parametrize(("mode", "says"), [(2, "lets no process compute"), (3, "lets one process in at a time")])
def test_a_gpu_that_does_not_let_several_in(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mode: int, says: str
) -> None:
    (tmp_path / "now").write_text(f"mode={mode}\n")
    monkeypatch.setenv("FAKE_NVML", str(tmp_path / "now"))
    found = ask(compile_library(tmp_path / "nvml"))
    warning = found["findings"][1]
    assert (warning["topic"], warning["state"]) == ("GPU 0", "warn")
    assert says in warning["message"]
    assert warning["fix"] == "Let several in: nvidia-smi -i 0 -c DEFAULT (as root)."


def test_a_driver_that_lets_the_gpu_go(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "now").write_text("persistence=0\n")
    monkeypatch.setenv("FAKE_NVML", str(tmp_path / "now"))
    warning = ask(compile_library(tmp_path / "nvml"))["findings"][1]
    assert (warning["topic"], warning["state"]) == ("GPU 0", "warn")
    assert "persistence mode is off" in warning["message"]
    assert warning["fix"] == "Keep it ready: nvidia-smi -i 0 -pm 1 (as root)."
    unknown = ask(compile_library(tmp_path / "older", without=("SENSORS",)))
    assert [finding["topic"] for finding in unknown["findings"]] == ["NVIDIA driver"], "what is not told is no fault"
