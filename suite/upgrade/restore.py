"""The command that gives a setting the value that it had.

Values come from fingerprints that a stranger may have written. A command holds a value only where it is a number in
bounds or a plain word, and quotes it for a POSIX shell; for any other value there is none. The commands need root.

References
----------
nvidia-smi(1), device modification options; sysctl(8); kernel documentation: admin-guide/pm/cpufreq,
admin-guide/pm/intel_pstate, admin-guide/mm/transhuge, admin-guide/mm/hugetlbpage, admin-guide/mm/ksm,
admin-guide/sysctl. The files are written directly, since cpupower(1) comes with the kernel, and is often missing after
an upgrade of it.
"""

import re
import shlex
from collections.abc import Callable, Mapping

from suite.record.schema import Fact

Facts = Mapping[str, Fact]
"""Facts of a side by `group, name`, those with one value on that side."""

_WORD = re.compile(r"[a-z][a-z0-9_+-]{0,39}", re.ASCII)
_DEVICE = re.compile(r"gpu, device (\d{1,4}) (.+)", re.ASCII)
_SCHEDULER = re.compile(r"kernel, (sched_[a-z0-9_]{1,50})", re.ASCII)
_PAGES = re.compile(r"memory, huge pages of (\d{1,10}) KiB", re.ASCII)
_NUMBER = re.compile(r"-?\d{1,12}", re.ASCII)
_MOST = 10**12
_CPU = "/sys/devices/system/cpu"
_MEMORY = "/sys/kernel/mm"

_SYSCTL = {
    "kernel, address randomisation": "kernel.randomize_va_space",
    "kernel, watchdog": "kernel.nmi_watchdog",
    "kernel, perf_event_paranoid": "kernel.perf_event_paranoid",
    "memory, NUMA balancing": "kernel.numa_balancing",
    "memory, huge pages reserved": "vm.nr_hugepages",
    "memory, swappiness": "vm.swappiness",
    "memory, overcommit": "vm.overcommit_memory",
    "memory, zone reclaim": "vm.zone_reclaim_mode",
    "memory, compaction proactiveness": "vm.compaction_proactiveness",
}
_FILES = {
    "clock, governor": f"{_CPU}/cpu*/cpufreq/scaling_governor",
    "clock, minimum kHz": f"{_CPU}/cpu*/cpufreq/scaling_min_freq",
    "clock, maximum kHz": f"{_CPU}/cpu*/cpufreq/scaling_max_freq",
    "clock, preference": f"{_CPU}/cpu*/cpufreq/energy_performance_preference",
    "clock, performance bias": f"{_CPU}/cpu*/power/energy_perf_bias",
    "cpu, SMT": f"{_CPU}/smt/control",
    "kernel, clock source": "/sys/devices/system/clocksource/clocksource0/current_clocksource",
    "memory, transparent huge pages": f"{_MEMORY}/transparent_hugepage/enabled",
    "memory, transparent huge pages defrag": f"{_MEMORY}/transparent_hugepage/defrag",
    "memory, same-page merging": f"{_MEMORY}/ksm/run",
}


def command(key: str, old: Facts, new: Facts) -> str:
    """Return the command that gives a setting its old value.

    Parameters
    ----------
    key
        `group, name` of a setting.
    old, new
        Facts of the side whose value is to be restored, and of the side that has lost it: some commands need a second
        fact.

    Returns
    -------
    str
        For a POSIX shell, as root; empty where no command does it, or where the old value is not one that it takes.
    """
    value = old.get(key)
    if device := _DEVICE.fullmatch(key):
        make = _GPU.get(device[2])
        return make(int(device[1]), old, value) if make is not None else ""
    if key == "clock, boost":
        return _boost(value, new.get("clock, driver"))
    if key in _FILES:
        return _written(value, _FILES[key])
    if pages := _PAGES.fullmatch(key):
        return _written(value, f"{_MEMORY}/hugepages/hugepages-{pages[1]}kB/nr_hugepages")
    name = _SYSCTL.get(key) or (f"kernel.{scheduler[1]}" if (scheduler := _SCHEDULER.fullmatch(key)) else "")
    number = _number(value)
    return f"sysctl -w {name}={number}" if name and number else ""


def _number(value: Fact | None) -> str:
    """Return a whole number in bounds as a text; empty for anything else."""
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) < _MOST:
        return str(value)
    return value if isinstance(value, str) and _NUMBER.fullmatch(value) else ""


def _written(value: Fact | None, files: str) -> str:
    word = value if isinstance(value, str) and _WORD.fullmatch(value) else _number(value)
    if not word:
        return ""
    # The shell writes to one file; tee writes to all that a pattern names.
    return f"echo {shlex.quote(word)} | tee {files}" if "*" in files else f"echo {shlex.quote(word)} > {files}"


def _boost(value: Fact | None, driver: Fact | None) -> str:
    if not isinstance(value, bool) or not isinstance(driver, str):
        return ""
    if driver.startswith("intel_"):
        return f"echo {int(not value)} > {_CPU}/intel_pstate/no_turbo"
    return f"echo {int(value)} > {_CPU}/cpufreq/boost"


def _switch(option: str) -> Callable[[int, Facts, Fact | None], str]:
    """Return what makes the command of an option that takes 1 or 0."""

    def made(index: int, _old: Facts, value: Fact | None) -> str:
        return f"nvidia-smi -i {index} {option} {int(value)}" if isinstance(value, bool) else ""

    return made


def _power(index: int, _old: Facts, value: Fact | None) -> str:
    """Return the command for a limit in milliwatts; the option takes watts, with or without a fraction."""
    number = _number(value)
    return f"nvidia-smi -i {index} -pl {int(number) / 1000:g}" if number and int(number) > 0 else ""


def _compute_mode(index: int, _old: Facts, value: Fact | None) -> str:
    modes = {0: "DEFAULT", 2: "PROHIBITED", 3: "EXCLUSIVE_PROCESS"}
    known = modes.get(value) if isinstance(value, int) and not isinstance(value, bool) else None
    return f"nvidia-smi -i {index} -c {known}" if known else ""


def _application_clocks(index: int, old: Facts, _value: Fact | None) -> str:
    """Return the command for both clocks: the option takes the memory's and the graphics clock as a pair."""
    pair = [_number(old.get(f"gpu, device {index} application {kind} clock MHz")) for kind in ("memory", "graphics")]
    return f"nvidia-smi -i {index} -ac {','.join(pair)}" if all(pair) else ""


_GPU: dict[str, Callable[[int, Facts, Fact | None], str]] = {
    "power limit mW": _power,
    "power limit set mW": _power,
    "persistence mode": _switch("-pm"),
    "ECC": _switch("-e"),
    "ECC after a restart": _switch("-e"),
    "MIG": _switch("-mig"),
    "MIG after a reset": _switch("-mig"),
    "compute mode": _compute_mode,
    "application graphics clock MHz": _application_clocks,
    "application memory clock MHz": _application_clocks,
}
