"""NVIDIA devices and their driver, asked through NVML (never by reading what nvidia-smi prints)."""

from collections.abc import Callable
from typing import Any

from suite.machine.reading import Facts
from suite.records.schema import Absent, Fact


def gpu() -> Facts:
    """Return driver, CUDA version it supports, and each device; serial numbers and identifiers are never read."""
    try:
        import pynvml
    except ImportError:
        return {"driver": Absent("nvidia-ml-py is not installed")}
    try:
        pynvml.nvmlInit()
    except pynvml.NVMLError as error:
        return {"driver": Absent(f"no NVIDIA driver answers: {error}")}
    try:
        return _asked(pynvml)
    finally:
        pynvml.nvmlShutdown()


def _asked(nvml: Any) -> Facts:  # noqa: ANN401  (a module without types)
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
        "CUDA supported": cuda if isinstance(cuda, Absent) else f"{cuda // 1000}.{cuda % 1000 // 10}",
        "devices": count,
    }
    for index in range(count if isinstance(count, int) else 0):
        device = ask(nvml.nvmlDeviceGetHandleByIndex, index)
        if isinstance(device, Absent):
            facts[f"device {index}"] = device
            continue
        questions: dict[str, Fact] = {
            "name": ask(nvml.nvmlDeviceGetName, device),
            "compute capability": _pair(ask(nvml.nvmlDeviceGetCudaComputeCapability, device)),
            "memory bytes": _field(ask(nvml.nvmlDeviceGetMemoryInfo, device), "total"),
            "power limit mW": ask(nvml.nvmlDeviceGetEnforcedPowerLimit, device),
            "maximum SM clock MHz": ask(nvml.nvmlDeviceGetMaxClockInfo, device, nvml.NVML_CLOCK_SM),
            "maximum memory clock MHz": ask(nvml.nvmlDeviceGetMaxClockInfo, device, nvml.NVML_CLOCK_MEM),
            "persistence mode": _on(ask(nvml.nvmlDeviceGetPersistenceMode, device)),
            "ECC": _on(_first(ask(nvml.nvmlDeviceGetEccMode, device))),
            "MIG": _on(_first(ask(nvml.nvmlDeviceGetMigMode, device))),
            "compute mode": ask(nvml.nvmlDeviceGetComputeMode, device),
            "PCIe generation": ask(nvml.nvmlDeviceGetMaxPcieLinkGeneration, device),
            "PCIe width": ask(nvml.nvmlDeviceGetMaxPcieLinkWidth, device),
            "firmware": ask(nvml.nvmlDeviceGetVbiosVersion, device),
        }
        facts.update({f"device {index} {name}": value for name, value in questions.items()})
    return facts


def _pair(answer: Any) -> Fact:  # noqa: ANN401
    return answer if isinstance(answer, Absent) else f"{answer[0]}.{answer[1]}"


def _field(answer: Any, name: str) -> Fact:  # noqa: ANN401
    return answer if isinstance(answer, Absent) else int(getattr(answer, name))


def _first(answer: Any) -> Any:  # noqa: ANN401
    return answer[0] if isinstance(answer, list | tuple) else answer


def _on(answer: Any) -> Fact:  # noqa: ANN401
    return answer if isinstance(answer, Absent) else answer == 1
