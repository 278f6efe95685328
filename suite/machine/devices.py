"""One GPU, by what a person calls it: an index as NVML counts, or a UUID. UUIDs are asked for, and never recorded."""

import re
from typing import Any

from suite.errors import LevelfieldError
from suite.machine.gpu import Problem, close, opened

_INDEX = re.compile(r"\d{1,3}")
_UUID = re.compile(r"GPU-[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")


def index_of(asked: str) -> int:
    """Return a GPU's index.

    Raises
    ------
    LevelfieldError
        It is neither an index nor a UUID, or no GPU has that UUID.
    """
    if _INDEX.fullmatch(asked):
        return int(asked)
    if not _UUID.fullmatch(asked):
        raise LevelfieldError(
            f"{asked[:80]!r} names no GPU.", fix="Give its index or its whole UUID; `nvidia-smi -L` lists both."
        )
    nvml = _require()
    try:
        return int(nvml.nvmlDeviceGetIndex(nvml.nvmlDeviceGetHandleByUUID(asked)))
    except nvml.NVMLError as error:
        raise LevelfieldError(
            f"No GPU here has the UUID {asked} ({error}).", fix="See which there are: nvidia-smi -L."
        ) from error
    finally:
        close(nvml)


def uuid_of(index: int) -> str:
    """Return a GPU's UUID, by which containers and CUDA name it whatever order they count in.

    Raises
    ------
    LevelfieldError
        There is no such GPU, or it does not say.
    """
    nvml = _require()
    try:
        answer = nvml.nvmlDeviceGetUUID(nvml.nvmlDeviceGetHandleByIndex(index))
    except nvml.NVMLError as error:
        raise LevelfieldError(
            f"The GPU {index} does not answer: {error}.", fix="See `levelfield doctor`, and choose one with --gpu."
        ) from error
    finally:
        close(nvml)
    return answer.decode() if isinstance(answer, bytes) else str(answer)


def _require() -> Any:  # noqa: ANN401  (a module without types)
    nvml = opened()
    if isinstance(nvml, Problem):
        raise LevelfieldError(f"No GPU can be used: {nvml.reason}.", fix=nvml.fix or "Leave out --gpu.")
    return nvml
