"""NVIDIA devices and their driver, read through NVML (never by parsing the output of nvidia-smi)."""

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

import msgspec

from suite.machine.reading import Facts, if_known
from suite.record.schema import Absent, Fact

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


def gpu() -> Facts:
    """Return driver, CUDA version it supports, and each device; serial numbers and identifiers are never read."""
    with session() as nvml:
        return {"driver": Absent(nvml.reason)} if isinstance(nvml, Problem) else _facts(nvml)


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


def _facts(nvml: Any) -> Facts:  # noqa: ANN401  (a module without types)
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
        "CUDA supported": if_known(lambda number: f"{number // 1000}.{number % 1000 // 10}", cuda),
        "devices": count,
    }
    for index in range(count if isinstance(count, int) else 0):
        device = ask(nvml.nvmlDeviceGetHandleByIndex, index)
        if isinstance(device, Absent):
            facts[f"device {index}"] = device
            continue
        questions: dict[str, Fact] = {
            "name": ask(nvml.nvmlDeviceGetName, device),
            "compute capability": if_known(
                "{0[0]}.{0[1]}".format, ask(nvml.nvmlDeviceGetCudaComputeCapability, device)
            ),
            "memory bytes": if_known(lambda memory: int(memory.total), ask(nvml.nvmlDeviceGetMemoryInfo, device)),
            "power limit mW": ask(nvml.nvmlDeviceGetEnforcedPowerLimit, device),
            "maximum SM clock MHz": ask(nvml.nvmlDeviceGetMaxClockInfo, device, nvml.NVML_CLOCK_SM),
            "maximum memory clock MHz": ask(nvml.nvmlDeviceGetMaxClockInfo, device, nvml.NVML_CLOCK_MEM),
            "persistence mode": if_known(_is_on, ask(nvml.nvmlDeviceGetPersistenceMode, device)),
            "ECC": if_known(_is_on, ask(nvml.nvmlDeviceGetEccMode, device)),
            "MIG": if_known(_is_on, ask(nvml.nvmlDeviceGetMigMode, device)),
            "compute mode": ask(nvml.nvmlDeviceGetComputeMode, device),
            "PCIe generation": ask(nvml.nvmlDeviceGetMaxPcieLinkGeneration, device),
            "PCIe width": ask(nvml.nvmlDeviceGetMaxPcieLinkWidth, device),
            "firmware": ask(nvml.nvmlDeviceGetVbiosVersion, device),
        }
        facts.update({f"device {index} {name}": value for name, value in questions.items()})
    return facts


def _is_on(answer: Any) -> bool:  # noqa: ANN401
    """Return the present state; NVML may answer with a pair of the present and the pending one."""
    return bool((answer[0] if isinstance(answer, list | tuple) else answer) == 1)
