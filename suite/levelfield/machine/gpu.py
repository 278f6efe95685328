"""NVIDIA devices and their driver, read through NVML; what it lacks is in `machine.nvidia_smi`."""

import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec

from levelfield.machine import gpu_facts
from levelfield.machine.reading import ROOT, Facts, if_known, text
from levelfield.record.schema import Absent

_RESTART = "Restart the machine; then see `levelfield doctor` again."


class Problem(msgspec.Struct, frozen=True):
    """Why no driver answers, and what to do about it."""

    reason: str
    fix: str = ""
    """Empty where nothing is wrong: a machine without an NVIDIA GPU."""


_PROBLEMS = {
    "NVML_ERROR_LIBRARY_NOT_FOUND": Problem("there is no NVIDIA driver here (its library, NVML, is not found)"),
    "NVML_ERROR_DRIVER_NOT_LOADED": Problem(
        "NVIDIA's libraries are installed, and the kernel has not loaded the driver",
        "Load it (modprobe nvidia, as root); where that fails, install the driver again for this kernel.",
    ),
    "NVML_ERROR_LIB_RM_VERSION_MISMATCH": Problem(
        "the NVIDIA driver was updated and the machine has not been restarted since: its library and what the kernel "
        "has loaded are of different versions",
        _RESTART,
    ),
    "NVML_ERROR_NO_PERMISSION": Problem(
        "an NVIDIA driver is there, and this user or container may not talk to it",
        "Look at who may open /dev/nvidia*; a container must be given the GPU (--gpus).",
    ),
    "NVML_ERROR_FUNCTION_NOT_FOUND": Problem(
        "the NVIDIA driver is too old to be asked: its library lacks what every newer one has",
        "Install a current driver, and restart.",
    ),
}
"""NVML's errors, and what each means."""


def gpu(root: Path = ROOT) -> Facts:
    """Return driver, CUDA version it supports, and each device; serial numbers and identifiers are never read."""
    with session() as nvml:
        return {"driver": Absent(nvml.reason)} if isinstance(nvml, Problem) else _facts(nvml, root)


def problem() -> Problem | None:
    """Return why no driver answers; None where one does."""
    with session() as nvml:
        return nvml if isinstance(nvml, Problem) else None


@contextlib.contextmanager
def session() -> Iterator[Any]:
    """Open the library for as long as it is used; yields the library, or why it cannot be opened."""
    nvml = opened()
    try:
        yield nvml
    finally:
        if not isinstance(nvml, Problem):
            close(nvml)


def opened() -> Any:  # noqa: ANN401  (a module without types, or a problem)
    """Return the opened library, or why it cannot be opened."""
    try:
        import pynvml
    except ImportError:
        return Problem("nvidia-ml-py is not installed", "Install it: pip install nvidia-ml-py.")
    try:
        pynvml.nvmlInit()
    except pynvml.NVMLError as error:
        return _problem(pynvml, error)
    return pynvml


def _problem(nvml: Any, error: Exception) -> Problem:  # noqa: ANN401
    code = getattr(error, "value", None)
    unknown = Problem(f"the NVIDIA driver does not answer as it should: {error}", _RESTART)
    return next((problem for name, problem in _PROBLEMS.items() if getattr(nvml, name) == code), unknown)


def close(nvml: Any) -> None:  # noqa: ANN401
    try:
        nvml.nvmlShutdown()
    except nvml.NVMLError:
        return  # everything has been read by now


def _facts(nvml: Any, root: Path) -> Facts:  # noqa: ANN401  (a module without types)
    def ask(question: Callable[..., Any], *arguments: object) -> Any:  # noqa: ANN401  (NVML answers with many types)
        try:
            answer = question(*arguments)
        except nvml.NVMLError as error:
            return Absent(str(error))
        return answer.decode() if isinstance(answer, bytes) else answer

    cuda = ask(nvml.nvmlSystemGetCudaDriverVersion_v2)
    count = ask(nvml.nvmlDeviceGetCount)
    facts: Facts = {
        "driver": ask(nvml.nvmlSystemGetDriverVersion),
        "kernel module": kernel_module(root),
        "CUDA supported": if_known(lambda number: f"{number // 1000}.{number % 1000 // 10}", cuda),
        "devices": count,
    }
    for index in range(count if isinstance(count, int) else 0):
        device = ask(nvml.nvmlDeviceGetHandleByIndex, index)
        if isinstance(device, Absent):
            facts[f"device {index}"] = device
            continue
        facts.update({f"device {index} {name}": value for name, value in gpu_facts.of(nvml, ask, device).items()})
    return facts


def kernel_module(root: Path) -> str | Absent:
    """Return which of NVIDIA's two kernel modules is loaded: `open` or `proprietary`."""
    told = text(root / "proc/driver/nvidia/version")
    return if_known(lambda words: "open" if "Open Kernel Module" in words else "proprietary", told)
