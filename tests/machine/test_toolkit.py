"""What doctor makes of an engine's own words about runtimes and devices."""

from typing import Any

import docker
import pytest

from levelfield.compatibility.devices import Gpu, Nvidia
from levelfield.machine import toolkit
from levelfield.machine.engine import described
from levelfield.machine.findings import Needs
from levelfield.machine.tools import container_engine
from levelfield.record.schema import Absent

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
    (finding,) = toolkit.findings(described(Engine(Runtimes=RUNC)), HERE)
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
    (finding,) = toolkit.findings(described(Engine(**info)), HERE)
    assert finding.state == "ok"
    assert says in finding.message


def test_names_of_devices_are_not_kept_since_they_may_be_uuids() -> None:
    facts = described(Engine(DiscoveredDevices=[*DEVICES, {"ID": "vendor.org/fpga=1"}, {}, "rubbish", {"ID": ""}]))
    assert facts["CDI devices"] == "nvidia.com/gpu vendor.org/fpga"
    assert isinstance(described(Engine())["CDI devices"], Absent)


@pytest.mark.parametrize("here", [Nvidia(driver=None, problem="none"), Nvidia(driver="595.58.03")])
def test_nothing_is_said_where_there_is_no_gpu(here: Nvidia) -> None:
    assert toolkit.findings(described(Engine(Runtimes=RUNC)), here) == []
    assert toolkit.findings({}, HERE) == []


@pytest.mark.docker
def test_this_engines_own_words(engine: docker.DockerClient) -> None:
    facts = container_engine(Needs()).facts
    (finding,) = toolkit.findings(facts, HERE)
    assert (finding.state == "ok") == ("nvidia" in engine.info()["Runtimes"] or facts["CDI devices"] == toolkit.KIND)
