"""What NVML says of one device: what it is, its firmware, its settings and its link to the machine.

References
----------
NVML API reference, device queries: the functions are named after what they return. The clocks to which
`nvidia-smi --lock-gpu-clocks` and `--lock-memory-clocks` limit a device can be set and reset, and not queried.
"""

from collections.abc import Callable
from typing import Any

from levelfield.machine.reading import Facts, if_known
from levelfield.record.schema import Absent, Fact

_FULL_SPEED = 0
"""NVML's number of the performance state with the highest clocks, P0."""


def of(nvml: Any, ask: Callable[..., Any], device: object) -> Facts:  # noqa: ANN401  (a module without types)
    """Return the facts of a device."""
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
