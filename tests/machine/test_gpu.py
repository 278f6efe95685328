"""The real bindings, asked through ctypes: this machine, and a fake library that answers like many others."""

from pathlib import Path

import pytest

from levelfield.compatibility import gate
from levelfield.compatibility.gate import Gpu, Nvidia, choose
from levelfield.errors import LevelfieldError
from levelfield.machine.doctor import driver_findings
from levelfield.machine.gpu import gpu, only_visible
from levelfield.record.schema import Absent
from tests.machine.fake_nvml import A100, H100, FakeGpu, ask, compile_library


@pytest.mark.skipif(Path("/dev/nvidiactl").exists(), reason="This machine has an NVIDIA driver.")
def test_this_machine_has_no_driver() -> None:
    driver = gpu()["driver"]
    assert isinstance(driver, Absent)
    assert driver.reason == "there is no NVIDIA driver here (its library, NVML, is not found)"
    (finding,) = driver_findings()
    assert (finding.state, finding.topic) == ("ok", "NVIDIA driver")
    assert "Everything runs on the CPU" in finding.message


@pytest.mark.parametrize(("driver", "cuda", "device"), [("470.57.02", 11040, A100), ("580.95.05", 13000, H100)])
def test_drivers_and_gpus(tmp_path: Path, driver: str, cuda: int, device: FakeGpu) -> None:
    found = ask(compile_library(tmp_path, driver=driver, cuda=cuda, gpus=(device,), without=("LINK",)))
    facts = found["facts"]
    assert facts["driver"] == driver
    assert facts["CUDA supported"] == f"{cuda // 1000}.{cuda % 1000 // 10}"
    assert facts["device 0 name"] == device.name
    assert facts["device 0 compute capability"] == f"{device.major}.{device.minor}"
    assert facts["device 0 memory bytes"] == device.memory_bytes
    assert facts["device 0 ECC"] is True
    assert facts["device 0 PCIe width"]["type"] == "absent"  # a question this library does not have
    assert (found["nvidia"]["driver"], found["nvidia"]["gpus"][0]["name"]) == (driver, device.name)


@pytest.mark.parametrize(
    ("code", "says", "fix"),
    [
        (18, "has not been restarted since", "Restart the machine"),
        (9, "the kernel has not loaded the driver", "modprobe nvidia"),
        (999, "does not answer as it should", "Restart"),
    ],
)
def test_a_driver_that_does_not_answer(tmp_path: Path, code: int, says: str, fix: str) -> None:
    found = ask(compile_library(tmp_path, init=code))
    assert says in found["facts"]["driver"]["reason"]
    (finding,) = found["findings"]
    assert finding["state"] == "warn"
    assert says in finding["message"]
    assert fix in finding["fix"]
    assert fix in found["nvidia"]["fix"]
    assert says in found["nvidia"]["problem"]


def test_a_driver_that_shows_no_gpu(tmp_path: Path) -> None:
    found = ask(compile_library(tmp_path, gpus=()))
    assert found["findings"][0]["state"] == "warn"
    assert "shows no GPU" in choose(gate.read(), Nvidia(driver=found["nvidia"]["driver"]), {"cu13": "13.1.1"}).reason


def test_what_is_set_and_what_it_would_be_by_default(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    now = "power-limit=350000\npower-enforced=350000\napplication-graphics=1410\necc=1\necc-pending=0\n"
    (tmp_path / "now").write_text(now)
    monkeypatch.setenv("FAKE_NVML", str(tmp_path / "now"))
    found = ask(compile_library(tmp_path / "nvml"))["facts"]
    facts = {name.removeprefix("device 0 "): value for name, value in found.items()}
    assert (facts["power limit mW"], facts["power limit set mW"]) == (350_000, 350_000)
    assert facts["default power limit mW"] == 700_000
    assert (facts["application graphics clock MHz"], facts["application memory clock MHz"]) == (1410, 2619)
    assert facts["default application graphics clock MHz"] == 1980
    assert (facts["ECC"], facts["ECC after a restart"]) == (True, False)
    assert (facts["firmware"], facts["GSP firmware"], facts["GSP"]) == ("96.00.89.00.01", "580.95.05", True)
    assert facts["locked clocks"]["type"] == "absent"


UUID = "GPU-00000000-0000-0000-0000-000000000001"
THREE = Nvidia(driver="595.58.03", gpus=tuple(Gpu(index, "NVIDIA H100", "9.0") for index in range(3)))


def index(word: str) -> int:
    if word == UUID:
        return 1
    if word.isdigit():
        return int(word)
    raise LevelfieldError(f"{word!r} names no GPU.")


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (None, [0, 1, 2]),
        ("2, 0", [0, 2]),
        (UUID, [1]),
        ("0,-1,2", [0]),
        ("", []),
        ("MIG-8de47821-9ed2-75e0-acc4-4646a03f8b35", []),
    ],
)
def test_what_the_variable_shows(value: str | None, shown: list[int]) -> None:
    variables = {} if value is None else {"CUDA_VISIBLE_DEVICES": value}
    found = only_visible(THREE, variables, index)
    assert [gpu.index for gpu in found.gpus] == shown
    assert sorted((*found.hidden, *shown)) == [0, 1, 2]
    none = Nvidia(driver=None, problem="no driver")
    assert only_visible(none, variables, index) == none
