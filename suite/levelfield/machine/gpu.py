"""NVIDIA devices and their driver, read through NVML.

UUIDs are read, and never recorded. `CUDA_VISIBLE_DEVICES` names the GPUs to use: the others are reserved for others.

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
from pathlib import Path
from typing import Any

import msgspec

from levelfield.compatibility.gate import Nvidia, from_facts
from levelfield.errors import LevelfieldError, explained
from levelfield.machine.reading import ROOT, Facts, if_known, text
from levelfield.record.schema import Absent, Fact

_FULL_SPEED = 0
"""NVML's number of the performance state with the highest clocks, P0."""


def of(nvml: Any, ask: Callable[..., Any], device: object) -> Facts:  # noqa: ANN401  (a module without types)
    ecc, mig = ask(nvml.nvmlDeviceGetEccMode, device), ask(nvml.nvmlDeviceGetMigMode, device)
    graphics, memory = nvml.NVML_CLOCK_GRAPHICS, nvml.NVML_CLOCK_MEM
    return {
        "name": ask(nvml.nvmlDeviceGetName, device),
        "compute capability": if_known("{0[0]}.{0[1]}".format, ask(nvml.nvmlDeviceGetCudaComputeCapability, device)),
        "memory bytes": if_known(lambda memory: int(memory.total), ask(nvml.nvmlDeviceGetMemoryInfo, device)),
        "power limit mW": ask(nvml.nvmlDeviceGetEnforcedPowerLimit, device),
        "power limit set mW": ask(nvml.nvmlDeviceGetPowerManagementLimit, device),
        "default power limit mW": ask(nvml.nvmlDeviceGetPowerManagementDefaultLimit, device),
        "maximum SM clock MHz": ask(nvml.nvmlDeviceGetMaxClockInfo, device, nvml.NVML_CLOCK_SM),
        "maximum memory clock MHz": ask(nvml.nvmlDeviceGetMaxClockInfo, device, memory),
        "application graphics clock MHz": ask(nvml.nvmlDeviceGetApplicationsClock, device, graphics),
        "application memory clock MHz": ask(nvml.nvmlDeviceGetApplicationsClock, device, memory),
        "default application graphics clock MHz": ask(nvml.nvmlDeviceGetDefaultApplicationsClock, device, graphics),
        "default application memory clock MHz": ask(nvml.nvmlDeviceGetDefaultApplicationsClock, device, memory),
        "locked clocks": Absent("NVML sets and resets locked clocks, and has no query for them"),
        "persistence mode": if_known(_is_on, ask(nvml.nvmlDeviceGetPersistenceMode, device)),
        "ECC": if_known(_is_on, ecc),
        "ECC after a restart": if_known(_will_be_on, ecc),
        "MIG": if_known(_is_on, mig),
        "MIG after a reset": if_known(_will_be_on, mig),
        "compute mode": ask(nvml.nvmlDeviceGetComputeMode, device),
        **_link(nvml, ask, device),
        "firmware": ask(nvml.nvmlDeviceGetVbiosVersion, device),
        "GSP firmware": ask(nvml.nvmlDeviceGetGspFirmwareVersion, device),
        "GSP": if_known(_is_on, ask(nvml.nvmlDeviceGetGspFirmwareMode, device)),
        "InfoROM": ask(nvml.nvmlDeviceGetInforomImageVersion, device),
    }


def _link(nvml: Any, ask: Callable[..., Any], device: object) -> Facts:  # noqa: ANN401
    """Return what the PCIe link of a device can be, given its slot, and what it is now."""
    most = ask(nvml.nvmlDeviceGetMaxPcieLinkGeneration, device)
    now: Fact = ask(nvml.nvmlDeviceGetCurrPcieLinkGeneration, device)
    if now != most and not isinstance(now, Absent) and ask(nvml.nvmlDeviceGetPerformanceState, device) != _FULL_SPEED:
        now = Absent("the device is not at full speed (P0), and its link may be slowed to save power")
    return {
        "PCIe generation": most,
        "PCIe width": ask(nvml.nvmlDeviceGetMaxPcieLinkWidth, device),
        "PCIe generation now": now,
        "PCIe width now": ask(nvml.nvmlDeviceGetCurrPcieLinkWidth, device),
    }


def _is_on(modes: Any) -> bool:  # noqa: ANN401
    """Return the present state; NVML may answer with a pair, the present one first."""
    return bool((modes[0] if isinstance(modes, list | tuple) else modes) == 1)


def _will_be_on(modes: Any) -> bool:  # noqa: ANN401
    """Return the second of the pair: the state that has been set and is pending."""
    return bool(modes[1] == 1)


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
}
"""NVML's errors, and what each means."""


def gpu(root: Path = ROOT) -> Facts:
    """Return driver, CUDA version it supports, and each device; serial numbers and identifiers are never read."""
    with session() as nvml:
        return {"driver": Absent(nvml.reason)} if isinstance(nvml, Problem) else _facts(nvml, root)


def problem() -> Problem | None:
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
        facts.update({f"device {index} {name}": value for name, value in of(nvml, ask, device).items()})
    return facts


def kernel_module(root: Path) -> str | Absent:
    """Return which of NVIDIA's two kernel modules is loaded: `open` or `proprietary`."""
    told = text(root / "proc/driver/nvidia/version")
    return if_known(lambda words: "open" if "Open Kernel Module" in words else "proprietary", told)


def nvidia() -> Nvidia:
    """Return this machine's driver and GPUs, for the choice of a variant."""
    found = only_visible(from_facts(gpu()))
    if found.driver is not None:
        return found
    why = problem()
    return msgspec.structs.replace(found, fix=why.fix if why is not None else "Install a current driver.")


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
    missing = f"No GPU here has the UUID {name}"
    with _required_session() as nvml, explained(missing, "See which there are: nvidia-smi -L.", nvml.NVMLError):
        return int(nvml.nvmlDeviceGetIndex(nvml.nvmlDeviceGetHandleByUUID(name)))


def uuid_of(index: int) -> str:
    """Return a GPU's UUID, by which containers and CUDA name it whatever order they count in.

    Raises LevelfieldError: there is no such GPU, or it does not say.
    """
    with (
        _required_session() as nvml,
        explained(
            f"The GPU {index} does not answer", "See `levelfield doctor`, and choose one with --gpu.", nvml.NVMLError
        ),
    ):
        answer = nvml.nvmlDeviceGetUUID(nvml.nvmlDeviceGetHandleByIndex(index))
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
