"""Requests for a GPU, and the errors of an engine that gives none."""

import pytest

from levelfield.launchers.gpu import DRIVER, gpu_error, gpu_request, without_uuids

UUID = "GPU-00000000-0000-0000-0000-000000000000"


def test_one_gpu_is_asked_for_by_its_uuid() -> None:
    asked = gpu_request(UUID)
    assert asked.device_ids == [UUID]
    assert asked.capabilities == [["gpu"]]
    assert asked.count == 0
    assert DRIVER == {"NVIDIA_DRIVER_CAPABILITIES": "compute,utility"}


@pytest.mark.parametrize(
    ("said", "says", "fix"),
    [
        ('could not select device driver "" with capabilities: [[gpu]]', "toolkit is missing", "nvidia-ctk runtime"),
        (
            f"CDI device injection failed: unresolvable CDI devices nvidia.com/gpu={UUID}",
            "no CDI device",
            "cdi generate",
        ),
        (
            "nvidia-container-cli: initialization error: nvml error: driver/library version mismatch: unknown",
            "has not been restarted since",
            "Restart the machine",
        ),
        (
            "nvidia-container-cli: initialization error: nvml error: driver not loaded",
            "not loaded the",
            "modprobe nvidia",
        ),
        (
            f"nvidia-container-cli: device error: {UUID}: unknown device: unknown",
            "does not know this GPU",
            "nvidia-smi -L",
        ),
        ("nvidia-container-cli: requirement error: unsatisfied condition: cuda>=13.0", "too old", "newer driver"),
        (
            f"OCI runtime create failed:\n something about {UUID} new.",
            "would not start a container",
            "the engine's log",
        ),
    ],
)
def test_refusals_are_worded(said: str, says: str, fix: str) -> None:
    refusal = gpu_error(said)
    assert says in refusal.message
    assert fix in refusal.fix
    assert "--variant cpu" in refusal.fix
    assert refusal.message.endswith(".")
    assert refusal.message.count(". ") == 0, "one sentence"
    assert UUID not in refusal.message


def test_a_uuid_is_kept_out_of_what_is_recorded() -> None:
    assert without_uuids(f"device {UUID}\n and MIG-8de47821-9ed2-75e0") == "device GPU-… and MIG-…"
