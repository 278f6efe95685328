"""The record of the reboot trial: what happened in every boot, and what `levelfield upgrade` said in the end."""

from typing import ClassVar

import msgspec

from studies.commands import MachineRecord


class Boot(msgspec.Struct, frozen=True):
    """One boot of the guest."""

    kernel: str
    """Release that was started, chosen by what the upgrade said comes next."""
    to_next_s: float
    """From power on until `upgrade next` began."""
    next_s: float
    """From then until the machine was off, or its power was cut."""
    cut: bool
    result: str
    """How the unit ended: systemd's result and exit status; empty where the power was cut."""
    said: str
    """The last sentence of `upgrade next`; empty where the power was cut."""
    counted: int
    """Boots that the upgrade counts after this one."""
    run: str
    """Run that was measured, or cut; empty where the power was cut before there was one."""
    side: str
    """What `upgrade next` took this boot for: `old` or `new`; empty like `run`."""
    rounds_announced: int = 0
    """Rounds that the console showed as ended."""
    rounds_on_disk: int = 0
    """Rounds that the run's journal on the disk holds after this boot."""
    windows_on_disk: int = 0
    """The same of windows."""


class Level(msgspec.Struct, frozen=True):
    """What a boot that counts measured."""

    phase: str
    run: str
    kernel: str
    call_ns: float
    """Geometric mean over launches of the median call."""


class Case(msgspec.Struct, frozen=True):
    """The verdict on one case."""

    id: str
    verdict: str
    ratio: float | None
    """New / old."""
    low: float | None
    high: float | None
    reason: str


class Series(msgspec.Struct, frozen=True):
    """One upgrade from its beginning to its verdict."""

    name: str
    slowdown: float
    """By which calls are made longer under the new kernel; 0.2 is 20 %."""
    boots: tuple[Boot, ...]
    levels: tuple[Level, ...]
    windows_kept: int
    """Windows that were on the disk when the power was cut, and are there in the end."""
    windows_lost: int
    """And are not."""
    answer: str
    cases: tuple[Case, ...]
    lost_settings: tuple[str, ...]
    """Settings that differ and that nobody meant to change."""
    seconds: float


class Finding(msgspec.Struct, frozen=True):
    """One of the statements that the trial was made to check."""

    statement: str
    holds: bool
    seen: str


class Record(MachineRecord, frozen=True, kw_only=True):
    """The whole record."""

    TRIAL: ClassVar = "reboots"

    finished: str
    seed: int
    boots_each: int
    plan: str
    """Options of `levelfield upgrade begin`."""
    emulator: str
    packages: dict[str, str]
    """Kernels and their versions."""
    series: tuple[Series, ...] = ()
    findings: tuple[Finding, ...] = ()
