"""What the GPU did during a window, read through NVML from outside the workers, before it and right after it.

The supervisor sleeps while a window is measured, so clocks, power, temperature and utilisation are those of the moment
after it. NVML averages two of them itself: power over the last second (from Ampere on, but for the A100), utilisation
over the last sixth of a second to a second. Where windows are shorter, others' are in that. Energy, memory errors and
the time for which the clocks were held down are counters, and what is reported of them is their growth; XID errors are
those reported since the window before.

References
----------
NVIDIA, NVML API: nvmlDeviceGetPowerUsage, nvmlDeviceGetUtilizationRates, nvmlDeviceGetViolationStatus;
"Event Handling Methods".
NVIDIA, XID Errors (GPU deployment and management documentation). Not verified: no GPU has failed during a test yet.
Z. Yang, K. Adamek, W. Armour (2024). Part-time Power Measurements: nvidia-smi's Lack of Attention. arXiv:2312.02741
(the sensors of A100 and H100 look for a quarter of the time only).
"""

import contextlib
import time
from collections.abc import Collection, Mapping
from typing import Any, TypeAlias

import msgspec

from levelfield.machine.counters import Closing, Value, growth
from levelfield.machine.gpu import Problem, close, opened
from levelfield.machine.reading import if_known
from levelfield.record.schema import Absent, DeviceUse

Codes: TypeAlias = tuple[int, ...] | Absent
"""XID errors in the order in which they came; empty: there was none."""

REASONS = {
    "SwPowerCap": "power limit",
    "HwSlowdown": "hardware slowdown",
    "SyncBoost": "clocks synchronised with another GPU's",
    "SwThermalSlowdown": "too hot (software)",
    "HwThermalSlowdown": "too hot (hardware)",
    "HwPowerBrakeSlowdown": "power brake",
    "ApplicationsClocksSetting": "application clocks",
    "DisplayClockSetting": "display clocks",
}
"""NVML's reasons for a clock below the highest, in words; idleness is not among them."""

POLICIES = {
    "POWER": REASONS["SwPowerCap"],
    "THERMAL": "too hot",
    "SYNC_BOOST": REASONS["SyncBoost"],
    "BOARD_LIMIT": "board limit",
    "RELIABILITY": "reliability limit",
}
"""NVML's policies that lower clocks, in words. It counts for how long each did: right after a window the GPU idles
already, and the reasons of that moment may say no more than this."""
_RELOADED = "the counter went backwards: the driver was loaded again"
_NOT_LISTED = "NVML does not list the worker's process: it may count in another namespace of process ids"
MAX_ERRORS = 64
"""XID errors that are taken at once: a GPU that falls over may report thousands."""
HELD_DOWN = 0.01
"""Least share of a window for which a policy held the clocks down before it is reported."""


class Reading(msgspec.Struct, frozen=True):
    taken_ns: int
    energy_mj: Value
    ecc_errors: Value
    held_down_ns: dict[str, int] = {}
    """For how long each policy lowered clocks so far; without those that the GPU does not count."""


class Device(Closing):
    """One GPU, by its index as NVML counts, read through NVML."""

    def __init__(self, index: int) -> None:
        nvml = opened()
        self._nvml: Any = None if isinstance(nvml, Problem) else nvml
        self._why = Absent(nvml.reason) if isinstance(nvml, Problem) else Absent("not asked")
        self._handle: Any = None
        self._watch: Watch | None = None
        if self._nvml is not None:
            try:
                self._handle = self._nvml.nvmlDeviceGetHandleByIndex(index)
                self._watch = Watch(self._nvml, self._handle)
            except self._nvml.NVMLError as error:
                self._why = Absent(f"GPU {index} does not answer: {error}")

    def close(self) -> None:
        """Close the library; safe to call twice."""
        if self._watch is not None:
            self._watch.close()
            self._watch = None
        if self._nvml is not None:
            close(self._nvml)
            self._nvml = self._handle = None

    def read(self) -> Reading:
        """Read the counters, that of energy last: what is measured begins right after."""
        held_down_ns, ecc_errors = self._held_down_ns(), self._ecc_errors()
        return Reading(time.monotonic_ns(), self._energy_mj(), ecc_errors, held_down_ns)

    def use(self, before: Reading, pids: Mapping[str, int], active: str) -> DeviceUse:
        """Return the use of the device since `before`, and its present state."""
        # Energy first: the GPU idles from here on.
        after = Reading(time.monotonic_ns(), self._energy_mj(), self._ecc_errors(), self._held_down_ns())
        rates = self._ask("nvmlDeviceGetUtilizationRates")

        return DeviceUse(
            elapsed_ns=after.taken_ns - before.taken_ns,
            energy_mj=growth(before.energy_mj, after.energy_mj, _RELOADED),
            power_mw=self._ask("nvmlDeviceGetPowerUsage"),
            utilisation_percent=if_known(lambda known: int(known.gpu), rates),
            memory_utilisation_percent=if_known(lambda known: int(known.memory), rates),
            sm_clock_mhz=self._ask("nvmlDeviceGetClockInfo", "NVML_CLOCK_SM"),
            memory_clock_mhz=self._ask("nvmlDeviceGetClockInfo", "NVML_CLOCK_MEM"),
            temperature_c=self._ask("nvmlDeviceGetTemperature", "NVML_TEMPERATURE_GPU"),
            throttled=self._throttled(before, after),
            memory_bytes=self._memory_of(pids.get(active, 0)),
            ecc_errors=growth(before.ecc_errors, after.ecc_errors, _RELOADED),
            xid_errors=self.xid_errors(),
        )

    def xid_errors(self) -> Codes:
        """Return the XID errors that were reported since the last call of this method or of `use`."""
        return self._why if self._watch is None else self._watch.new_errors()

    def free_bytes(self) -> Value:
        return if_known(lambda memory: int(memory.free), self._ask("nvmlDeviceGetMemoryInfo"))

    def others(self, pids: Collection[int]) -> dict[int, int] | Absent:
        """Return the processes on the GPU that are not among these, with the bytes that each holds (0: not told)."""
        found = self._processes()
        if isinstance(found, Absent):
            return found
        held = {int(process.pid): int(process.usedGpuMemory or 0) for process in found}
        if not pids or not held.keys() >= set(pids):
            return Absent(_NOT_LISTED)
        return {pid: used for pid, used in held.items() if pid not in pids}

    def _energy_mj(self) -> Value:
        return self._ask("nvmlDeviceGetTotalEnergyConsumption")  # type: ignore[no-any-return]

    def _ecc_errors(self) -> Value:
        kind = ("NVML_MEMORY_ERROR_TYPE_UNCORRECTED", "NVML_VOLATILE_ECC")
        return self._ask("nvmlDeviceGetTotalEccErrors", *kind)  # type: ignore[no-any-return]

    def _held_down_ns(self) -> dict[str, int]:
        statuses = {name: self._ask("nvmlDeviceGetViolationStatus", f"NVML_PERF_POLICY_{name}") for name in POLICIES}
        return {name: int(found.violationTime) for name, found in statuses.items() if not isinstance(found, Absent)}

    def _throttled(self, before: Reading, after: Reading) -> tuple[str, ...] | Absent:
        """Return what held the clocks down during the window, and what does now."""
        mask = self._ask("nvmlDeviceGetCurrentClocksEventReasons")
        if isinstance(mask, Absent) and not after.held_down_ns:
            return mask
        least_ns = HELD_DOWN * (after.taken_ns - before.taken_ns)
        during = [
            POLICIES[name]
            for name, held_ns in after.held_down_ns.items()
            if held_ns - before.held_down_ns.get(name, held_ns) > least_ns
        ]
        bits = 0 if isinstance(mask, Absent) else mask
        now = [words for name, words in REASONS.items() if bits & _bit(self._nvml, name)]
        return tuple(dict.fromkeys((*now, *during)))

    def _memory_of(self, pid: int) -> Value:
        if not pid:
            return Absent("the worker's process id is not known on this host")
        found = self._processes()
        if isinstance(found, Absent):
            return found
        used = [process.usedGpuMemory for process in found if int(process.pid) == pid]
        if not used:
            return Absent(_NOT_LISTED)
        return Absent("the driver does not tell it by process") if used[0] is None else int(used[0])

    def _processes(self) -> Any:  # noqa: ANN401  (a list of NVML's structures, or why there is none)
        # By name and version: without one, NVML's bindings refuse a driver of another age than theirs.
        return self._ask("nvmlDeviceGetComputeRunningProcesses_v3")

    def _ask(self, question: str, *constants: str) -> Any:  # noqa: ANN401  (NVML answers with many types)
        """Call a function of NVML's with this GPU and the library's constants of these names."""
        if self._handle is None:
            return self._why
        try:
            return getattr(self._nvml, question)(self._handle, *(getattr(self._nvml, name) for name in constants))
        except self._nvml.NVMLError as error:
            return Absent(f"NVML: {error}")
        except AttributeError:
            return Absent("the installed nvidia-ml-py is too old to ask: pip install --upgrade nvidia-ml-py")


def _bit(nvml: Any, reason: str) -> int:  # noqa: ANN401  (a module without types)
    """Return NVML's bit for a reason; some have kept the name that all had before drivers of 535."""
    names = (f"nvmlClocks{family}{reason}" for family in ("EventReason", "ThrottleReason"))
    return next((int(getattr(nvml, name)) for name in names if hasattr(nvml, name)), 0)


class Watch:
    """The XID errors of one GPU from now on: what NVIDIA's driver reports of a GPU that faulted.

    NVML reports them as events to processes that registered before; some consumer GPUs and virtual ones have none.
    """

    def __init__(self, nvml: Any, handle: object) -> None:  # noqa: ANN401  (a module without types)
        self._nvml = nvml
        self._events: Any = None
        self._why = "the GPU is no longer watched"
        try:
            self._events = nvml.nvmlEventSetCreate()
            nvml.nvmlDeviceRegisterEvents(handle, nvml.nvmlEventTypeXidCriticalError, self._events)
        except nvml.NVMLError as error:
            self.close()
            self._why = f"NVML reports no events ({error})"

    def new_errors(self) -> Codes:
        """Return the errors since the last call, or since the watch began; it does not wait."""
        if self._events is None:
            return Absent(self._why)
        nvml = self._nvml
        codes: list[int] = []
        try:
            while len(codes) < MAX_ERRORS:
                event = nvml.nvmlEventSetWait_v2(self._events, 0)
                if int(event.eventType) == nvml.nvmlEventTypeXidCriticalError:
                    codes.append(int(event.eventData))
        except nvml.NVMLError as error:
            if getattr(error, "value", None) != nvml.NVML_ERROR_TIMEOUT and not codes:
                return Absent(f"NVML: {error}")
        return tuple(codes)

    def close(self) -> None:
        """Stop watching; safe to call twice."""
        if self._events is not None:
            with contextlib.suppress(self._nvml.NVMLError):
                self._nvml.nvmlEventSetFree(self._events)
            self._events = None
