"""Devices, read from the facts of a record."""

import pytest

from levelfield.compatibility.devices import Gpu, from_facts
from levelfield.compatibility.gate import check
from levelfield.record.schema import Absent
from tests.compatibility.machines import TABLE


def test_a_fingerprint_becomes_devices() -> None:
    found = from_facts(
        {
            "driver": "580.95.05",
            "CUDA supported": "13.0",
            "devices": 2,
            "device 0 name": "NVIDIA H100",
            "device 0 compute capability": "9.0",
            "device 0 MIG": True,
            "device 1": Absent("GPU is lost"),
        }
    )
    assert found.gpus == (Gpu(0, "NVIDIA H100", "9.0", mig=True), Gpu(1, "unnamed", None))
    assert (found.driver, found.cuda) == ("580.95.05", "13.0")


@pytest.mark.parametrize(
    "facts",
    [
        {},
        {"driver": Absent("no")},
        {"driver": "newest"},
        {"driver": 580},
        {"driver": "580.95.05", "devices": 10**9},
        {"driver": "580.95.05", "devices": -1, "CUDA supported": 13.0},
        {"driver": "580.95.05", "devices": 1, "device 0 name": 7, "device 0 compute capability": "nine"},
    ],
)
def test_facts_of_strangers_are_no_trouble(facts: dict[str, str | int | float | bool | Absent]) -> None:
    found = from_facts(facts)
    assert len(found.gpus) <= 1024
    assert check(TABLE, "13.0.0", found).reason or found.driver
