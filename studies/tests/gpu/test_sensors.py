"""What nvidia-smi prints, read and spelled; recorded on an H200 (driver 580.159.04, 2026-11-26)."""

import json
from pathlib import Path
from typing import Any

import pytest

from studies.gpu import sensors
from suite.record.schema import Absent
from tests.commands import ROOT

RECORD = ROOT / "reports" / "trials" / "gpu-sensors-2026-11-26.json"


@pytest.fixture(scope="module")
def recorded() -> dict[str, Any]:
    found = json.loads(Path(RECORD).read_bytes())
    assert isinstance(found, dict)
    return found


@pytest.mark.parametrize(
    ("name", "value", "spelled"),
    [
        ("driver", "580.159.04", "580.159.04"),
        ("memory bytes", 150754820096, "143771"),
        ("power limit mW", 700000, "700.00"),
        ("ECC", True, "Enabled"),
        ("MIG", False, "Disabled"),
        ("compute mode", 0, "Default"),
        ("compute mode", 3, "Exclusive_Process"),
        ("PCIe width now", 16, "16"),
        ("InfoROM", Absent("Not Supported"), "[N/A]"),
    ],
)
def test_facts_are_spelled_as_nvidia_smi_does(name: str, value: object, spelled: str) -> None:
    assert sensors.as_smi(name, value) == spelled


def test_lines_are_samples() -> None:
    text = "710.52, 56\n\n592.10, 55\nan error\n"
    assert sensors.parse(text, ("power", "temperature")) == [
        {"power": "710.52", "temperature": "56"},
        {"power": "592.10", "temperature": "55"},
    ]


def test_on_a_real_gpu_nvml_and_nvidia_smi_agree(recorded: dict[str, Any]) -> None:
    assert [one["name"] for one in recorded["facts"]] == list(sensors.FIELDS)
    assert [one for one in recorded["facts"] if one["nvml"] != one["nvidia_smi"]] == []
    load = recorded["load"]
    assert load["nvml_power_w"] == pytest.approx(load["smi_power_w"], rel=0.02)
    assert load["use"]["memory_bytes"] >> 20 == int(load["smi_processes"][str(load["pid"])])
    assert load["use"]["throttled"] == ["power limit"]
    assert {one["clocks_event_reasons.active"] for one in load["smi"]} == {"0x0000000000000004"}, "SwPowerCap"
