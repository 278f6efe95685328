"""Kernel counters behind files that stay open: a reading costs some microseconds.

Energy of the processor is by RAPL (running average power limit), which Intel's and AMD's processors have. The kernel
shows one zone for each package (a processor in its socket), with parts of it beneath. Only packages are added up: their
parts are in them already, and so is the package in `psys`, the whole board. The counter is of the whole processor, and
includes what other processes computed. Since 2020 only root may read it (CVE-2020-8694: its steps reveal secrets), and
virtual machines hardly ever show it; then it is absent.

References
----------
The kernel's Documentation/power/powercap/powercap.rst and Documentation/ABI/testing/sysfs-class-powercap.
"""

import contextlib
import os
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from time import clock_gettime_ns
from typing import Self, TypeAlias

import msgspec

from levelfield.machine.reading import ROOT, if_known, integer, text
from levelfield.record.schema import Absent

Value: TypeAlias = int | Absent

TICK_NS = 10_000_000
"""`/proc/stat` counts in hundredths of a second (USER_HZ), whatever the kernel's own timer does."""
_CHUNK_BYTES = 1 << 17
_IDLE, _IOWAIT, _STEAL = 4, 5, 8
_PLAUSIBLE = 0.5
_MAX_SENSORS = 8
"""Reading a sensor may interrupt its CPU, so no more than this many are read."""
FREQUENCY = "cpufreq/scaling_cur_freq"
"""File below a CPU's folder: its present clock rate, in kHz."""
THROTTLING = "thermal_throttle/*_throttle_count"
"""Files below a CPU's folder: how often the core and its package were throttled."""


class Open:
    """A kernel file that is opened once and read from its start each time; both raise OSError where they cannot."""

    def __init__(self, path: Path) -> None:
        self._descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_CLOEXEC", 0))

    def read(self) -> bytes:
        content = os.pread(self._descriptor, _CHUNK_BYTES, 0)
        # Long files are handed out a page or so at a time, and only an empty answer means the end.
        while more := os.pread(self._descriptor, _CHUNK_BYTES, len(content)):
            content += more
        return content

    def close(self) -> None:
        with contextlib.suppress(OSError):
            os.close(self._descriptor)


def process_cpu_ns(pid: int) -> Value:
    """Return the CPU time of another process, all its threads, in nanoseconds.

    Linux makes the clock's number from the process's: `clock_getcpuclockid(3)`; the low bits say "whole process, as
    the scheduler counts". Unlike `/proc/PID/stat`, which steps by 10 ms, it has nanoseconds. Children are not in it.
    """
    try:
        return clock_gettime_ns((~pid << 3) | 2)
    except OSError:
        return Absent(f"process {pid} is gone, or its CPU clock is not readable here")


def family_cpu_ns(pid: int) -> Value:
    """Return the CPU time of a process and of those that its first thread started and that are still there.

    A loader of data computes in processes of its own, which belong to the worker that started them.
    """
    own = process_cpu_ns(pid)
    children = [] if isinstance(own, Absent) else map(process_cpu_ns, _children(pid))
    running = [spent for spent in children if not isinstance(spent, Absent)]  # the others ended just now
    return if_known(lambda spent: spent + sum(running), own)


def family_runs(pid: int) -> bool:
    """Say whether some thread of a process, or of those that `family_cpu_ns` counts, runs or waits for a CPU.

    A thread that waits for a CPU takes no CPU time, and will once it gets one. False where the kernel does not show it.
    """
    return any(_thread_runs(thread) for each in (pid, *_children(pid)) for thread in _threads(each))


def _children(pid: int) -> list[int]:
    """Return the processes that a process's first thread started and that are still there."""
    children = text(Path(f"/proc/{pid}/task/{pid}/children"))
    return [] if isinstance(children, Absent) else [int(child) for child in children.split()]


def _threads(pid: int) -> list[Path]:
    try:
        return list(Path(f"/proc/{pid}/task").iterdir())
    except OSError:
        return []


def _thread_runs(thread: Path) -> bool:
    try:
        return (thread / "stat").read_bytes().rpartition(b") ")[2].startswith(b"R")
    except OSError:  # it ended just now
        return False


def growth(before: Value, after: Value, backwards: str) -> Value:
    return if_known(lambda new, old: new - old if new >= old else Absent(backwards), after, before)


def cpu_lines(content: bytes, cpus: Sequence[int]) -> dict[int, list[int]]:
    """Return the fields of each CPU's line in `/proc/stat` or `/proc/schedstat`."""
    numbers = {b"cpu%d" % cpu: cpu for cpu in cpus}
    found: dict[int, list[int]] = {}
    for line in content.split(b"\n"):
        name, _, rest = line.partition(b" ")
        if name in numbers:
            found[numbers[name]] = [0, *map(int, rest.split())]
    return found


def steal_ns(lines: dict[int, list[int]]) -> Value:
    """Return the time that the hypervisor gave to other guests while these CPUs had work."""
    if not lines or any(len(fields) <= _STEAL for fields in lines.values()):
        return Absent("/proc/stat does not count steal")
    return sum(fields[_STEAL] for fields in lines.values()) * TICK_NS


def ticks_busy_ns(lines: dict[int, list[int]], now_ns: int) -> Value:
    """Return a counter that grows with busy time: the time that was neither idle, nor waiting for disks, nor stolen.

    Idle time is kept exactly by tickless kernels, while `user` and `system` are what a timer interrupt happened to
    see: this difference is exact to a tick, their sum is a sample.

    `now_ns`: a monotonic clock, read together with `lines`; nanoseconds.
    """
    if not lines:
        return Absent("/proc/stat does not show these CPUs")
    away = (_IDLE, _IOWAIT, _STEAL)
    idle = sum(sum(fields[index] for index in away if index < len(fields)) for fields in lines.values())
    return len(lines) * now_ns - idle * TICK_NS


def named_counter(content: bytes, name: bytes) -> Value:
    """Return the number after a name at the start of a line (`ctxt 453837`), in the kernel's unit."""
    _, found, rest = content.partition(b"\n" + name + b" ")
    return int(rest.partition(b"\n")[0]) if found else Absent(f"the kernel does not count {name.decode()}")


def pressure_ns(content: bytes) -> Value:
    """Return the total of the `some` line of a pressure file, which counts microseconds."""
    _, found, rest = content.partition(b"total=")
    return int(rest.split(None, 1)[0]) * 1000 if content.startswith(b"some") and found else Absent("no `some` line")


def scheduler_busy_ns(content: bytes, cpus: Sequence[int]) -> Value:
    """Return the time tasks ran on these CPUs, from `/proc/schedstat` (seventh number of a CPU's line).

    Source: the kernel's Documentation/scheduler/sched-stats.rst.
    """
    busy = [fields[7] for fields in cpu_lines(content, cpus).values() if len(fields) > 7]
    return sum(busy) if len(busy) == len(set(cpus)) else Absent("/proc/schedstat does not show these CPUs")


def group_busy_ns(content: bytes, cpus: Sequence[int]) -> Value:
    """Return the time tasks ran on these CPUs, from `cpuacct.usage_percpu` of the top control group (version 1).

    Source: the kernel's Documentation/admin-guide/cgroup-v1/cpuacct.rst.
    """
    usage = [int(part) for part in content.split()]
    if any(cpu >= len(usage) for cpu in cpus):
        return Absent("cpuacct.usage_percpu does not show these CPUs")
    return sum(usage[cpu] for cpu in cpus)


def plausible(busy_ns: Value, lines: dict[int, list[int]]) -> bool:
    """Return whether a busy counter covers the whole machine: inside a container it may cover only the container.

    `busy_ns`: the counter's value, nanoseconds since boot; an absent one is not plausible. `lines`: fields of the same
    CPUs in ticks, as `cpu_lines` returns them: at least the share `_PLAUSIBLE` of their time in `user`, `nice` and
    `system` must be in the counter.
    """
    seen_ns = sum(sum(fields[1:4]) for fields in lines.values()) * TICK_NS
    return not isinstance(busy_ns, Absent) and busy_ns >= _PLAUSIBLE * seen_ns


def temperature_files(root: Path) -> list[Path]:
    """Return the files of the processor's own temperature sensors (thousandths of a degree)."""
    zones = [
        zone / "temp"
        for zone in sorted((root / "sys/class/thermal").glob("thermal_zone*"))
        if str(text(zone / "type")) in {"x86_pkg_temp", "cpu-thermal", "cpu_thermal", "soc_thermal"}
    ]
    chips = [
        chip / "temp1_input"
        for chip in sorted((root / "sys/class/hwmon").glob("hwmon*"))
        if str(text(chip / "name")) in {"coretemp", "k10temp", "zenpower"}
    ]
    return [file for file in (zones or chips) if file.exists()][:_MAX_SENSORS]


def files_of_cpus(root: Path, cpus: Sequence[int], pattern: str) -> list[Path]:
    """Return the kernel's files about CPUs; empty where it has none."""
    folders = [root / f"sys/devices/system/cpu/cpu{cpu}" for cpu in cpus[:_MAX_SENSORS]]
    return [file for folder in folders for file in sorted(folder.glob(pattern))]


def throttled_periods(content: bytes) -> int:
    """Return in how many periods a quota stopped a control group, from its `cpu.stat`."""
    return int(content.partition(b"\nnr_throttled ")[2].partition(b"\n")[0])


def combined(
    files: Sequence[Open], combine: Callable[[list[int]], int], without: str, number: Callable[[bytes], int] = int
) -> Value:
    """Read one number from each file and combine them; absent also where one of them cannot be read."""
    if not files:
        return Absent(without)
    try:
        return combine([number(file.read()) for file in files])
    except (OSError, ValueError) as error:
        return Absent(f"a sensor did not answer: {error}")


_ZONES = "sys/class/powercap"
_PACKAGE = re.compile(r"intel-rapl:\d+")
"""AMD's zones have this name too. `intel-rapl-mmio:0` is the same package another way, and is left out."""


class Package(msgspec.Struct, frozen=True):
    """One package's counter at a moment."""

    energy_uj: int
    range_uj: int
    """It begins again at zero after this much: at 200 W some tens of minutes, on old processors one."""


class Closing:
    """What is closed at the end of a `with`."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        raise NotImplementedError


class Rapl(Closing):
    """The open counters of all packages."""

    def __init__(self, root: Path = ROOT) -> None:
        self._zones: list[tuple[Open, int]] = []
        self._why = _open(root, self._zones)
        if self._why:
            self.close()

    def read(self) -> tuple[Package, ...] | Absent:
        """Read every package; absent where one does not answer, since a sum without it would be wrong."""
        if not self._zones:
            return Absent(self._why or "the counters are closed")
        try:
            return tuple(Package(int(file.read()), range_uj) for file, range_uj in self._zones)
        except (OSError, ValueError) as error:
            return Absent(f"RAPL does not answer any more: {error}")

    def close(self) -> None:
        for file, _ in self._zones:
            file.close()
        self._zones.clear()


def _open(root: Path, zones: list[tuple[Open, int]]) -> str:
    """Open the packages' counters; return why there are none."""
    folder = root / _ZONES
    found = [zone for zone in sorted(folder.glob("intel-rapl:*")) if _PACKAGE.fullmatch(zone.name)]
    packages = [zone for zone in found if str(text(zone / "name")).startswith("package")]
    if not packages:
        return f"/{_ZONES} shows no package's energy (RAPL); virtual machines rarely do"
    for zone in packages:
        range_uj = integer(zone / "max_energy_range_uj")
        if isinstance(range_uj, Absent):
            return range_uj.reason
        try:
            zones.append((Open(zone / "energy_uj"), range_uj))
        except PermissionError:
            return f"/{_ZONES}/{zone.name}/energy_uj may be read by root only"
        except OSError as error:
            return f"/{_ZONES}/{zone.name}/energy_uj cannot be read: {error.strerror or error}"
    return ""


def spent_uj(before: Sequence[Package] | Absent, after: Sequence[Package] | Absent) -> Value:
    """Return the energy that all packages took between two readings.

    A counter that is lower than before has begun again once; that it did so twice cannot be seen, and would need a
    window of minutes at the least.
    """
    return if_known(_spent_uj, after, before)


def _spent_uj(after: Sequence[Package], before: Sequence[Package]) -> Value:
    if len(before) != len(after):
        return Absent("a processor was switched off or on meanwhile")
    return sum(
        new.energy_uj - old.energy_uj + (new.range_uj if new.energy_uj < old.energy_uj else 0)
        for old, new in zip(before, after, strict=True)
    )
