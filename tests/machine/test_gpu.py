"""The real bindings, asked through ctypes: this machine, and a fake library that answers like many others."""

from pathlib import Path
from typing import Any

import pytest

from levelfield.compatibility import table
from levelfield.compatibility.devices import Gpu, Nvidia
from levelfield.compatibility.selection import choose
from levelfield.machine.driver import findings
from levelfield.machine.gpu import gpu
from levelfield.record.schema import Absent
from tests.commands import run
from tests.machine.fake_nvml import A100, B200, H100, K80, P100, RTX_4090, T4, V100, FakeGpu, ask, compile_library

VARIANTS = {"cu12": "12.8.1", "cu13": "13.1.1"}


def devices(found: dict[str, Any]) -> Nvidia:
    said = found["nvidia"]
    return Nvidia(
        driver=said["driver"],
        cuda=said["cuda"],
        gpus=tuple(Gpu(**one) for one in said["gpus"]),
        problem=said["problem"],
        fix=said["fix"],
    )


@pytest.mark.skipif(Path("/dev/nvidiactl").exists(), reason="This machine has an NVIDIA driver.")
def test_this_machine_has_no_driver() -> None:
    driver = gpu()["driver"]
    assert isinstance(driver, Absent)
    assert driver.reason == "there is no NVIDIA driver here (its library, NVML, is not found)"
    (finding,) = findings()
    assert (finding.state, finding.topic) == ("ok", "NVIDIA driver")
    assert "Everything runs on the CPU" in finding.message


@pytest.mark.parametrize(
    ("driver", "cuda", "device", "variant"),
    [
        ("470.57.02", 11040, A100, None),
        ("525.60.13", 12000, A100, "cu12"),
        ("535.104.05", 12020, T4, "cu12"),
        ("550.54.15", 12040, V100, "cu12"),
        ("560.35.03", 12060, RTX_4090, "cu12"),
        ("570.124.06", 12080, H100, "cu12"),
        ("580.95.05", 13000, H100, "cu13"),
        ("580.95.05", 13000, P100, "cu12"),
        ("590.48.01", 13010, B200, "cu13"),
        ("590.48.01", 13010, K80, None),
    ],
)
def test_drivers_and_gpus(tmp_path: Path, driver: str, cuda: int, device: FakeGpu, variant: str | None) -> None:
    found = ask(compile_library(tmp_path, driver=driver, cuda=cuda, gpus=(device,), without=("LINK",)))
    facts = found["facts"]
    assert facts["driver"] == driver
    assert facts["CUDA supported"] == f"{cuda // 1000}.{cuda % 1000 // 10}"
    assert facts["device 0 name"] == device.name
    assert facts["device 0 compute capability"] == f"{device.major}.{device.minor}"
    assert facts["device 0 memory bytes"] == device.memory_bytes
    assert facts["device 0 ECC"] is True
    assert facts["device 0 PCIe width"]["type"] == "absent"  # a question this library does not have
    choice = choose(table.read(), devices(found), VARIANTS)
    assert choice.variant == variant
    assert bool(choice.reason) is (variant is None)


def test_two_gpus_of_different_kinds(tmp_path: Path) -> None:
    found = ask(compile_library(tmp_path, driver="590.48.01", cuda=13010, gpus=(H100, V100)))
    assert [finding["topic"] for finding in found["findings"]] == ["NVIDIA driver", "GPUs"]
    assert "of 2 kinds" in found["findings"][1]["message"]
    assert found["findings"][1]["fix"] == "Choose it with --gpu: 0 is NVIDIA H100 80GB HBM3."
    assert choose(table.read(), devices(found), VARIANTS).variant == "cu12"
    assert choose(table.read(), devices(found), VARIANTS, gpu=0).variant == "cu13"


def test_an_old_library_that_has_never_heard_of_slices(tmp_path: Path) -> None:
    found = ask(compile_library(tmp_path, driver="470.57.02", cuda=11040, gpus=(V100,), without=("MIG",)))
    assert found["facts"]["device 0 MIG"]["type"] == "absent"
    assert found["findings"][0]["state"] == "ok"


@pytest.mark.parametrize(
    ("code", "says", "fix"),
    [
        (18, "has not been restarted since", "Restart the machine"),
        (9, "the kernel has not loaded the driver", "modprobe nvidia"),
        (4, "may not talk to it", "/dev/nvidia"),
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
    choice = choose(table.read(), devices(found), VARIANTS)
    assert choice.variant is None
    assert says in choice.reason


def test_a_library_too_old_to_be_opened(tmp_path: Path) -> None:
    found = ask(compile_library(tmp_path, without=("INIT",)))
    assert "too old to be asked" in found["facts"]["driver"]["reason"]


def test_a_driver_that_shows_no_gpu(tmp_path: Path) -> None:
    found = ask(compile_library(tmp_path, gpus=()))
    assert found["findings"][0]["state"] == "warn"
    assert "shows no GPU" in choose(table.read(), devices(found), VARIANTS).reason


def test_a_gpu_that_fell_off_the_bus(tmp_path: Path) -> None:
    found = ask(compile_library(tmp_path, gpus=(H100, H100), lost=1))
    assert found["facts"]["device 1"]["type"] == "absent"
    assert devices(found).gpus[1] == Gpu(1, "unnamed", None)


def test_closing_may_fail_once_all_is_reported(tmp_path: Path) -> None:
    assert ask(compile_library(tmp_path, shutdown=999))["facts"]["driver"] == "580.95.05"


@pytest.mark.skipif(Path("/dev/nvidiactl").exists(), reason="This machine has an NVIDIA driver.")
def test_doctor_says_in_a_line_that_there_is_none(tmp_path: Path) -> None:
    command = run("doctor", folder=tmp_path)
    assert "NVIDIA driver: None to be used: there is no NVIDIA driver here" in command.out
    assert "CUDA on this machine" not in command.out
