"""A GPU for a container: how to request it, and the meaning of the errors of an engine that gives none."""

import re

from docker.types import DeviceRequest

from levelfield.errors import LevelfieldError
from levelfield.machine.cuda import INSTALL

DRIVER = {"NVIDIA_DRIVER_CAPABILITIES": "compute,utility"}
"""Driver libraries that the container toolkit mounts: CUDA and NVML. Slim images do not set this variable."""
ELSEWHERE = "or use --launcher venv, or --variant cpu."
_UUID = re.compile(r"(GPU|MIG)-[0-9a-fA-F-]{8,}")

_REFUSALS: tuple[tuple[str, str, str], ...] = (
    (
        "could not select device driver",
        (
            "The container engine gives no GPU to containers: NVIDIA's container toolkit is missing, or the engine was "
            "not restarted since it was installed."
        ),
        f"{INSTALL}, or --variant cpu.",
    ),
    (
        "CDI",
        "The container engine finds no CDI device of this GPU: the toolkit's list is missing or of an earlier driver.",
        f"Run `nvidia-ctk cdi generate --output=/etc/cdi/nvidia.yaml` (as root) and restart the engine; {ELSEWHERE}",
    ),
    (
        "driver/library version mismatch",
        "The NVIDIA driver was updated and the machine has not been restarted since: no container gets the GPU.",
        "Restart the machine, or use --variant cpu.",
    ),
    (
        "driver not loaded",
        "NVIDIA's libraries are installed and the kernel has not loaded the driver, so that no container gets the GPU.",
        "Load it (modprobe nvidia, as root), or use --variant cpu.",
    ),
    (
        "unknown device",
        "NVIDIA's container toolkit does not know this GPU: the driver, or what is plugged in, has changed.",
        f"Restart the engine, then see `nvidia-smi -L`; {ELSEWHERE}",
    ),
    (
        "nvidia-container-cli: requirement error",
        "NVIDIA's container toolkit holds this driver for too old for the image.",
        f"Install a newer driver (`levelfield doctor` says which), and restart; {ELSEWHERE}",
    ),
)
"""Part of the engine's message; what it means; what to do."""


def gpu_request(uuid: str) -> DeviceRequest:
    """Return the request that `docker run --gpus device=UUID` makes."""
    return DeviceRequest(device_ids=[uuid], capabilities=[["gpu"]])


def gpu_error(explanation: str) -> LevelfieldError:
    """Explain why the engine did not start a container with a GPU."""
    for part, message, fix in _REFUSALS:
        if part in explanation:
            return LevelfieldError(message, fix=fix)
    reason = without_uuids(explanation)[:200].rstrip(". ")
    return LevelfieldError(
        f"The container engine would not start a container with the GPU: {reason}.",
        fix=f"See `levelfield doctor` and the engine's log; {ELSEWHERE}",
    )


def without_uuids(text: str) -> str:
    """Return a text on one line without UUIDs of GPUs, which are unique in the world."""
    return _UUID.sub(r"\1-…", " ".join(text.split()))
