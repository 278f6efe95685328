"""XID errors: what NVIDIA's driver reports of a GPU that faulted.

NVML reports them as events to processes that registered before. Where it does not (some consumer GPUs, some virtual
ones), the driver's lines in the kernel's log hold the same for users who may read it.

References
----------
NVIDIA, XID Errors (GPU deployment and management documentation); NVML API, "Event Handling Methods"; the kernel's
Documentation/ABI/testing/dev-kmsg. Not verified: no GPU has failed during a test yet.
"""

import contextlib
import os
import re
from pathlib import Path
from typing import Any, TypeAlias

from levelfield.record.schema import Absent

Codes: TypeAlias = tuple[int, ...] | Absent
"""In the order in which they came; empty: there was none."""
PciAddress: TypeAlias = tuple[int, int, int]
"""Domain, bus and device."""

KERNEL_LOG = Path("/dev/kmsg")
MAX_ERRORS = 64
"""Errors that are taken at once: a GPU that falls over may report thousands."""
_RECORD_BYTES = 8192
_LINE = re.compile(
    r"NVRM: Xid \(PCI:(?P<domain>[0-9a-f]+):(?P<bus>[0-9a-f]+):(?P<device>[0-9a-f]+)[^)]*\): (?P<code>\d+)",
    re.IGNORECASE,
)


class Watch:
    """The XID errors of one GPU from now on.

    `nvml`: the opened library. `handle`: the GPU's. `kernel_log`: it is read if NVML reports no events.
    """

    def __init__(self, nvml: Any, handle: Any, kernel_log: Path = KERNEL_LOG) -> None:  # noqa: ANN401  (no types)
        self._nvml = nvml
        self._events: Any = None
        self._log: KernelLog | None = None
        self._why = ""
        try:
            events = nvml.nvmlEventSetCreate()
            try:
                nvml.nvmlDeviceRegisterEvents(handle, nvml.nvmlEventTypeXidCriticalError, events)
            except nvml.NVMLError:
                nvml.nvmlEventSetFree(events)
                raise
            self._events = events
        except nvml.NVMLError as error:
            self._why = f"NVML reports no events ({error})"
            self._read_instead(handle, kernel_log)

    def _read_instead(self, handle: Any, kernel_log: Path) -> None:  # noqa: ANN401  (the same)
        try:
            found = self._nvml.nvmlDeviceGetPciInfo(handle)
            self._log = KernelLog((int(found.domain), int(found.bus), int(found.device)), kernel_log)
        except self._nvml.NVMLError as error:
            self._why += f", nor the GPU's address ({error})"
        except OSError as error:
            self._why += f", and the kernel's log cannot be read ({error.strerror or error})"

    def new_errors(self) -> Codes:
        """Return the errors since the last call, or since the watch began; it does not wait."""
        if self._events is not None:
            return self._events_since()
        return Absent(self._why) if self._log is None else self._log.new_errors()

    def _events_since(self) -> Codes:
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
            self._why = "the GPU is no longer watched"
        if self._log is not None:
            self._log.close()
            self._log = None


class KernelLog:
    """The driver's lines about one GPU in the kernel's log, from now on.

    Raises OSError: it may not be read by this user, or is not there.
    """

    def __init__(self, address: PciAddress, path: Path = KERNEL_LOG) -> None:
        self._address = address
        self._descriptor: int | None = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        with contextlib.suppress(OSError):  # a pipe has no end to go to
            os.lseek(self._descriptor, 0, os.SEEK_END)

    def new_errors(self) -> Codes:
        """Return the codes of the lines since the last call."""
        if self._descriptor is None:
            return Absent("the GPU is no longer watched")
        records: list[str] = []
        while len(records) < MAX_ERRORS * 16:
            try:
                record = os.read(self._descriptor, _RECORD_BYTES)
            except BlockingIOError:
                break
            except BrokenPipeError:  # what came too fast was overwritten; the next read goes on after it
                continue
            except OSError as error:
                return Absent(f"the kernel's log cannot be read any more: {error.strerror or error}")
            if not record:
                break
            records.append(record.decode("utf-8", "replace"))
        return tuple(codes_of("".join(records), self._address)[:MAX_ERRORS])

    def close(self) -> None:
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None


def codes_of(text: str, address: PciAddress) -> list[int]:
    """Return the codes of the driver's lines about the GPU at `address`.

    `text`: lines of the kernel's log.

    Examples
    --------
    >>> codes_of("4,1,2,-;NVRM: Xid (PCI:0000:3b:00): 79, pid=7, GPU has fallen off the bus.", (0, 0x3B, 0))
    [79]
    """
    return [
        int(found["code"])
        for found in _LINE.finditer(text)
        if tuple(int(found[part], 16) for part in ("domain", "bus", "device")) == address
    ]
