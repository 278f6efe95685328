"""GPUs by what a person calls them, an index as NVML counts or a UUID; and which of them this process is meant to use.

UUIDs are read, and never recorded. `CUDA_VISIBLE_DEVICES` names the GPUs to use: the others are reserved for other
users.

References
----------
NVIDIA, CUDA C++ Programming Guide, "CUDA Environment Variables": indices or UUIDs, in order; what follows an entry that
is none is hidden too. CUDA counts the fastest GPU first and NVML by bus, so that an index means the same to both where
all GPUs are alike, or where CUDA_DEVICE_ORDER is PCI_BUS_ID.
"""

import contextlib
import os
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import msgspec

from levelfield.compatibility.devices import Nvidia
from levelfield.errors import LevelfieldError
from levelfield.machine.gpu import Problem, session

VARIABLE = "CUDA_VISIBLE_DEVICES"
_INDEX = re.compile(r"\d{1,3}")
_UUID = re.compile(r"GPU-[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")


def index_of(name: str) -> int:
    """Return a GPU's index.

    Raises LevelfieldError: it is neither an index nor a UUID, or no GPU has that UUID.
    """
    if _INDEX.fullmatch(name):
        return int(name)
    if not _UUID.fullmatch(name):
        raise LevelfieldError(
            f"{name[:80]!r} names no GPU.", fix="Give its index or its whole UUID; `nvidia-smi -L` lists both."
        )
    with _required_session() as nvml:
        try:
            return int(nvml.nvmlDeviceGetIndex(nvml.nvmlDeviceGetHandleByUUID(name)))
        except nvml.NVMLError as error:
            raise LevelfieldError(
                f"No GPU here has the UUID {name} ({error}).", fix="See which there are: nvidia-smi -L."
            ) from error


def uuid_of(index: int) -> str:
    """Return a GPU's UUID, by which containers and CUDA name it whatever order they count in.

    Raises LevelfieldError: there is no such GPU, or it does not say.
    """
    with _required_session() as nvml:
        try:
            answer = nvml.nvmlDeviceGetUUID(nvml.nvmlDeviceGetHandleByIndex(index))
        except nvml.NVMLError as error:
            raise LevelfieldError(
                f"The GPU {index} does not answer: {error}.", fix="See `levelfield doctor`, and choose one with --gpu."
            ) from error
    return answer.decode() if isinstance(answer, bytes) else str(answer)


@contextlib.contextmanager
def _required_session() -> Iterator[Any]:
    with session() as nvml:
        if isinstance(nvml, Problem):
            raise LevelfieldError(f"No GPU can be used: {nvml.reason}.", fix=nvml.fix or "Leave out --gpu.")
        yield nvml


def only_visible(
    found: Nvidia, variables: Mapping[str, str] = os.environ, index: Callable[[str], int] = index_of
) -> Nvidia:
    """Leave out the GPUs that the variable hides; all stay where it is not set."""
    value = variables.get(VARIABLE)
    if value is None or not found.gpus:
        return found
    shown = _indices(value, index)
    kept = tuple(gpu for gpu in found.gpus if gpu.index in shown)
    hidden = tuple(gpu.index for gpu in found.gpus if gpu.index not in shown)
    return msgspec.structs.replace(found, gpus=kept, hidden=hidden)


def _indices(value: str, index: Callable[[str], int]) -> set[int]:
    shown: set[int] = set()
    with contextlib.suppress(LevelfieldError):  # at `-1`, a slice, a GPU that is not here: CUDA reads no further either
        for word in value.split(","):
            shown.add(index(word.strip()))
    return shown
