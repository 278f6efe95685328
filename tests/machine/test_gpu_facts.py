"""Firmware, limits, clocks, modes and link of a GPU, asked through the real bindings of a fake library."""

from pathlib import Path
from typing import Any

import pytest

from levelfield.machine.gpu import kernel_module
from tests.machine.fake_nvml import H100, RTX_4090, FakeGpu, ask, compile_library
from tests.machine.folders import write


def told(
    folder: Path, monkeypatch: pytest.MonkeyPatch, now: str = "", device: FakeGpu = H100, *without: str
) -> dict[str, Any]:
    (folder / "now").write_text(now)
    monkeypatch.setenv("FAKE_NVML", str(folder / "now"))
    found = ask(compile_library(folder / "nvml", gpus=(device,), without=without))["facts"]
    return {name.removeprefix("device 0 "): value for name, value in found.items()}


def test_what_is_set_and_what_it_would_be_by_default(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    now = "power-limit=350000\npower-enforced=350000\napplication-graphics=1410\necc=1\necc-pending=0\n"
    facts = told(tmp_path, monkeypatch, now)
    assert (facts["power limit mW"], facts["power limit set mW"]) == (350_000, 350_000)
    assert facts["default power limit mW"] == 700_000
    assert (facts["application graphics clock MHz"], facts["application memory clock MHz"]) == (1410, 2619)
    assert facts["default application graphics clock MHz"] == 1980
    assert (facts["ECC"], facts["ECC after a restart"]) == (True, False)
    assert (facts["MIG"], facts["MIG after a reset"]) == (False, False)
    assert (facts["firmware"], facts["GSP firmware"], facts["GSP"]) == ("96.00.89.00.01", "580.95.05", True)
    assert facts["locked clocks"]["type"] == "absent"


@pytest.mark.parametrize(
    ("now", "generation", "width"),
    [
        ("", 5, 16),
        ("generation=3\nwidth=8\n", 3, 8),
        ("generation=1\npstate=8\n", "not at full speed", 16),
        ("pstate=8\n", 5, 16),
    ],
)
def test_an_idle_link_is_not_called_slow(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, now: str, generation: int | str, width: int
) -> None:
    facts = told(tmp_path, monkeypatch, now)
    assert (facts["PCIe generation"], facts["PCIe width"], facts["PCIe width now"]) == (5, 16, width)
    if isinstance(generation, str):
        assert generation in facts["PCIe generation now"]["reason"]
    else:
        assert facts["PCIe generation now"] == generation


def test_what_a_device_or_a_driver_does_not_know_is_absent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    facts = told(tmp_path, monkeypatch, "", RTX_4090, "APPLICATION_CLOCKS", "LINK")
    unknown = {name for name, value in facts.items() if isinstance(value, dict)}
    assert {
        "MIG",
        "MIG after a reset",
        "application graphics clock MHz",
        "default application memory clock MHz",
        "PCIe generation",
        "PCIe generation now",
        "PCIe width now",
    } <= unknown
    assert all(len(facts[name]["reason"]) > 5 for name in unknown)


@pytest.mark.parametrize(
    ("line", "kind"),
    [
        ("NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.95.05  Release Build", "open"),
        ("NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.129.03  Thu Oct 19 18:56:32 UTC 2023", "proprietary"),
    ],
)
def test_the_kernel_module_says_which_one_it_is(tmp_path: Path, line: str, kind: str) -> None:
    assert kernel_module(write(tmp_path, {"proc/driver/nvidia/version": line})) == kind
