"""A machine's NVIDIA devices, from the facts of its fingerprint: of today, or of a record of last year."""

from collections.abc import Mapping

import msgspec

from levelfield.compatibility.versions import is_version
from levelfield.record.schema import Absent, Fact

_MAX_DEVICES = 1024
_EXCLUSIVE, _PROHIBITED = (1, 3), 2
"""NVML's compute modes (`nvmlComputeMode_t`)."""


class Gpu(msgspec.Struct, frozen=True):
    index: int
    name: str
    capability: str | None
    """Compute capability, `9.0`; None where the device did not say."""
    mig: bool = False
    """Cut into slices (multi-instance GPU): no longer usable as a whole."""
    one_process: bool = False
    """It lets one process in at a time (compute mode EXCLUSIVE_PROCESS, or EXCLUSIVE_THREAD of old)."""
    prohibited: bool = False
    """It lets no process compute (compute mode PROHIBITED)."""
    persistent: bool | None = None
    """The driver stays ready while no process uses the GPU (persistence mode); None where the device did not say."""

    @property
    def title(self) -> str:
        """`GPU 0 (NVIDIA H100, 9.0)`."""
        return f"GPU {self.index} ({self.name}{f', {self.capability}' if self.capability else ''})"


class Nvidia(msgspec.Struct, frozen=True):
    """The driver and the devices it shows."""

    driver: str | None
    """Version; None: none answers."""
    cuda: str | None = None
    """Newest CUDA that the driver itself says it supports, `13.0`."""
    gpus: tuple[Gpu, ...] = ()
    problem: str = ""
    """Why there is no driver; empty where there is one."""
    fix: str = ""
    """What to do about that; empty where nothing is wrong, as on a machine without a GPU."""
    hidden: tuple[int, ...] = ()
    """Indices of GPUs that are there, and not for this process (CUDA_VISIBLE_DEVICES)."""

    def chosen(self, index: int | None) -> tuple[Gpu, ...]:
        """Return the GPU of an index, if it is there; all where no index is given."""
        return tuple(gpu for gpu in self.gpus if index is None or gpu.index == index)


def from_facts(facts: Mapping[str, Fact]) -> Nvidia:
    """Read the `gpu` group of a fingerprint."""
    driver, cuda = facts.get("driver", Absent("not asked")), facts.get("CUDA supported")
    if isinstance(driver, Absent) or not is_version(str(driver)):
        reason = driver.reason if isinstance(driver, Absent) else f"its version is {str(driver)[:40]!r}"
        return Nvidia(driver=None, problem=reason)
    count = facts.get("devices")
    shown = min(count, _MAX_DEVICES) if isinstance(count, int) else 0
    return Nvidia(
        driver=str(driver),
        cuda=str(cuda) if isinstance(cuda, str) and is_version(cuda) else None,
        gpus=tuple(_gpu(facts, index) for index in range(shown)),
    )


def _gpu(facts: Mapping[str, Fact], index: int) -> Gpu:
    name, capability = facts.get(f"device {index} name"), facts.get(f"device {index} compute capability")
    mode, persistent = facts.get(f"device {index} compute mode"), facts.get(f"device {index} persistence mode")
    return Gpu(
        index=index,
        name=name[:80] if isinstance(name, str) else "unnamed",
        capability=capability if isinstance(capability, str) and is_version(capability) else None,
        mig=facts.get(f"device {index} MIG") is True,
        one_process=mode in _EXCLUSIVE,
        prohibited=mode == _PROHIBITED,
        persistent=persistent if isinstance(persistent, bool) else None,
    )
