"""What the machine did during a window, seen from outside the workers.

The supervisor takes a snapshot before and after each window, and sleeps between them. A snapshot reads a handful of
files that stay open, and one CPU clock for each worker: some tens of microseconds on a small machine.
"""

import operator
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Literal, NamedTuple

import msgspec

from levelfield.machine import control_groups, counters
from levelfield.machine.counters import Closing, Open, Package, Rapl, Value, growth, spent_uj
from levelfield.machine.cpu import siblings
from levelfield.machine.reading import ROOT, Facts, if_known, online
from levelfield.record.cpu_lists import as_text
from levelfield.record.schema import Absent, Noise


class _BusySource(NamedTuple):
    """Where busy time is read from."""

    path: str
    busy_ns: Callable[[bytes, Sequence[int]], Value]
    """Takes the file's content and the CPUs."""


_BUSY = {
    # Exact to the nanosecond, and counted as the workers' own clocks are; control groups v1 only.
    "cpuacct.usage_percpu of the top control group": _BusySource(
        "sys/fs/cgroup/cpuacct/cpuacct.usage_percpu", counters.group_busy_ns
    ),
    # Exact too; on virtual machines stolen time may be in it, so it can call steal "others".
    "/proc/schedstat": _BusySource("proc/schedstat", counters.scheduler_busy_ns),
}
_NO_FREQUENCY = "the kernel shows no frequency (usual on a virtual machine)"
_NO_QUOTA = "no control group of the supervisor or a worker has a quota"
_COUNTERS = (
    "steal_ns", "pressure_ns", "context_switches", "major_faults", "swapped_pages", "throttled", "quota_throttled",
)  # fmt: skip
"""Fields of a snapshot whose growth describes a window."""
_RESET = "the counter went backwards: it was reset, or is another's"
_TICKS = "/proc/stat (idle time subtracted, exact to 10 ms)"


class Snapshot(msgspec.Struct, frozen=True):
    """Counters at one moment; only differences between two of them mean something."""

    taken_ns: int
    busy_ns: Value
    steal_ns: Value
    pressure_ns: Value
    supervisor_ns: int
    workers_ns: dict[str, Value]
    context_switches: Value
    major_faults: Value
    swapped_pages: Value
    throttled: Value
    quota_throttled: Value
    """How often quotas stopped groups of the supervisor or a worker."""
    frequency_khz: Value
    """Mean over the CPUs, now. The kernel averages it over the last ticks, so it describes the window's end."""
    temperature_mc: Value
    """The hottest of the processor's sensors, now."""
    packages: tuple[Package, ...] | Absent
    """Energy counters of the processor's packages."""


class Signals(Closing):
    """Open counters of this machine.

    `cpus`: CPUs the workers are pinned to; busy and stolen time are counted on these and on the threads that share
    their cores. None: on all that are online.
    """

    def __init__(self, cpus: Sequence[int] | None = None, root: Path = ROOT) -> None:
        self.cpus = siblings(cpus, root) if cpus else online(root)
        """CPUs that are watched. Shares are relative to their number times the elapsed time."""
        self._files: list[Open] = []
        self._stat = self._open(root / "proc/stat")
        self._vmstat = self._open(root / "proc/vmstat")
        self._pressure = self._open(root / "proc/pressure/cpu")
        self._frequency = self._open_all(counters.files_of_cpus(root, self.cpus, counters.FREQUENCY))
        self._temperature = self._open_all(counters.temperature_files(root))
        self._throttle = self._open_all(counters.files_of_cpus(root, self.cpus, counters.THROTTLING))
        self._root = root
        self._quotas: dict[Path, Open | Absent] = {}
        self._processes: set[int | Literal["self"]] = set()
        self._busy, self.busy_source = self._choose_busy(root)
        self._rapl = Rapl(root)

    def close(self) -> None:
        for file in self._files:
            file.close()
        self._files.clear()
        self._rapl.close()

    def snapshot(self, workers: Mapping[str, int]) -> Snapshot:
        self._watch_quotas(("self", *workers.values()))
        stat, vmstat, pressure = map(_content, (self._stat, self._vmstat, self._pressure))
        lines = self._lines(stat)
        now_ns = time.monotonic_ns()
        return Snapshot(
            taken_ns=now_ns,
            busy_ns=self._busy_ns(lines, now_ns),
            steal_ns=if_known(lambda _: counters.steal_ns(lines), stat),
            pressure_ns=if_known(counters.pressure_ns, pressure),
            supervisor_ns=time.process_time_ns(),
            workers_ns={arm: counters.family_cpu_ns(pid) for arm, pid in workers.items()},
            context_switches=if_known(counters.named_counter, stat, b"ctxt"),
            major_faults=if_known(counters.named_counter, vmstat, b"pgmajfault"),
            swapped_pages=if_known(
                operator.add, *(if_known(counters.named_counter, vmstat, name) for name in (b"pswpin", b"pswpout"))
            ),
            throttled=counters.combined(self._throttle, sum, "the kernel counts no throttling here"),
            quota_throttled=counters.combined(
                [file for file in self._quotas.values() if isinstance(file, Open)],
                sum,
                _NO_QUOTA,
                counters.throttled_periods,
            ),
            frequency_khz=counters.combined(self._frequency, lambda each: sum(each) // len(each), _NO_FREQUENCY),
            temperature_mc=counters.combined(self._temperature, max, "the processor shows no temperature here"),
            packages=self._rapl.read(),
        )

    def sources(self) -> Facts:
        """Return what is watched and where each signal comes from, for the fingerprint."""
        now = self.snapshot({})

        read: dict[str, tuple[object, str]] = {
            "busy time": (now.busy_ns, self.busy_source),
            "steal": (now.steal_ns, "/proc/stat (steps of 10 ms)"),
            "pressure": (now.pressure_ns, "/proc/pressure/cpu"),
            "context switches": (now.context_switches, "/proc/stat"),
            "page faults and swap": (now.swapped_pages, "/proc/vmstat"),
            "frequency": (now.frequency_khz, "cpufreq"),
            "temperature": (now.temperature_mc, "the processor's own sensors"),
            "throttling": (now.throttled, "thermal_throttle"),
            "quota": (now.quota_throttled, "cpu.stat of control groups that have one"),
            "CPU energy": (now.packages, "RAPL, all packages"),
        }
        watched: Facts = {"CPUs watched": as_text(self.cpus) or Absent("the kernel does not list its CPUs")}
        return watched | {
            name: value if isinstance(value, Absent) else source for name, (value, source) in read.items()
        }

    def _watch_quotas(self, processes: Iterable[int | Literal["self"]]) -> None:
        """Open the counters of groups with a quota that new processes are in: an engine's groups are its own."""
        for process in set(processes) - self._processes:
            self._processes.add(process)
            for path in control_groups.throttling_files(self._root, process):
                if path not in self._quotas:
                    self._quotas[path] = self._open(path)

    def _lines(self, stat: bytes | Absent) -> dict[int, list[int]]:
        return {} if isinstance(stat, Absent) else counters.cpu_lines(stat, self.cpus)

    def _busy_ns(self, lines: dict[int, list[int]], now_ns: int) -> Value:
        if self._busy is None:
            return counters.ticks_busy_ns(lines, now_ns)
        return if_known(_BUSY[self.busy_source].busy_ns, _content(self._busy), self.cpus)

    def _choose_busy(self, root: Path) -> tuple[Open | None, str]:
        """Take the finest source that agrees with `/proc/stat` about how busy these CPUs have been since the start."""
        lines = self._lines(_content(self._stat))
        for source, (path, _) in _BUSY.items():
            file = self._open(root / path)
            if isinstance(file, Absent):
                continue
            self._busy, self.busy_source = file, source
            if counters.plausible(self._busy_ns(lines, 0), lines):
                return file, source
        return None, _TICKS

    def _open(self, path: Path) -> Open | Absent:
        try:
            file = Open(path)
        except OSError as error:
            return Absent(f"/{'/'.join(path.parts[-2:])} cannot be read: {error.strerror or error}")
        self._files.append(file)
        return file

    def _open_all(self, paths: Sequence[Path]) -> list[Open]:
        return [file for path in paths if isinstance(file := self._open(path), Open)]


def difference(before: Snapshot, after: Snapshot, active: str | None) -> Noise:
    """Return what happened between two snapshots.

    `active`: the arm whose turn it was; all other workers should have been idle. None: it was no arm's turn.

    CPU time of all others is busy time less that of workers and supervisor, never below zero: the counters differ in
    resolution (up to 10 ms a CPU where only `/proc/stat` is available), so judge a whole round, not a window.
    A worker that ended in between leaves its CPU time, and with it that of the others, unknown.
    """
    arms = sorted(before.workers_ns.keys() | after.workers_ns.keys())
    missing = Absent("it was not in both snapshots")
    spent = {
        arm: growth(before.workers_ns.get(arm, missing), after.workers_ns.get(arm, missing), _RESET) for arm in arms
    }
    workers_ns = _total(spent)
    supervisor_ns = after.supervisor_ns - before.supervisor_ns
    busy_ns = growth(before.busy_ns, after.busy_ns, _RESET)
    return Noise(
        elapsed_ns=after.taken_ns - before.taken_ns,
        others_ns=if_known(lambda busy, workers: max(0, busy - workers - supervisor_ns), busy_ns, workers_ns),
        supervisor_ns=supervisor_ns,
        idle_workers_ns=_total({arm: value for arm, value in spent.items() if arm != active}),
        frequency_khz=after.frequency_khz,
        temperature_mc=after.temperature_mc,
        package_energy_uj=spent_uj(before.packages, after.packages),
        **{name: growth(getattr(before, name), getattr(after, name), _RESET) for name in _COUNTERS},
    )


def sources(root: Path = ROOT) -> Facts:
    """Return where this machine's signals come from."""
    with Signals(root=root) as signals:
        return signals.sources()


def _total(spent: Mapping[str, Value]) -> Value:
    total = 0
    for arm, value in spent.items():
        if isinstance(value, Absent):
            return Absent(f"the CPU time of {arm} is not known: {value.reason}")
        total += value
    return total


def _content(file: Open | Absent) -> bytes | Absent:
    if isinstance(file, Absent):
        return file
    try:
        return file.read()
    except OSError as error:
        return Absent(f"a counter cannot be read any more: {error.strerror or error}")
