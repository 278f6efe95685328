"""The processor: what it is, how it is arranged, and how its clock is governed."""

import hashlib
import os
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from levelfield.machine.reading import ROOT, Facts, entry, if_known, integer, online, table, text
from levelfield.machine.topology import placement, read
from levelfield.record.cpu_lists import as_text, cpu_list
from levelfield.record.schema import Absent, Fact

_CPU = Path("sys/devices/system/cpu")
_INTERESTING = re.compile(
    r"sse4_[12]|ssse3|avx.*|fma4?|f16c|bmi[12]|amx.*|vaes|gfni|asimd.*|sve.*|sme([0-9_].*)?|bf16|i8mm|fphp|atomics|"
    r"erms|fsrm|clzero|constant_tsc|nonstop_tsc|hypervisor|ht"
)
"""Flags that decide which kernels a numerical library picks, or which clock the system uses."""
_SIZE = re.compile(r"(\d+)([KMG]?)")
_SHIFTS = {"": 0, "K": 10, "M": 20, "G": 30}


def cpu(pinned: Sequence[int] | None = None, root: Path = ROOT) -> Facts:
    """Return model, arrangement, caches and flags.

    `pinned`: CPUs the workers are pinned to; None: none were chosen.
    """
    info = table(root / "proc/cpuinfo")
    where = "/proc/cpuinfo"
    # x86 names first, then what ARM kernels call the same thing.
    facts: Facts = {
        "model": _first(info, ("model name", "Model", "cpu model", "uarch"), where),
        "vendor": _first(info, ("vendor_id", "CPU implementer"), where),
        "family": _first(info, ("cpu family", "CPU architecture"), where),
        "model number": _first(info, ("model", "CPU part"), where),
        "stepping": _first(info, ("stepping", "CPU revision"), where),
        "microcode": entry(info, "microcode", where),
        **_arrangement(root),
        **caches(root),
    }
    flags = (info.get("flags") or info.get("Features") or "").split()
    if flags:
        facts["flags"] = " ".join(sorted(flag for flag in flags if _INTERESTING.fullmatch(flag)))
        facts["all flags sha256"] = hashlib.sha256(" ".join(sorted(flags)).encode()).hexdigest()
    else:
        facts["flags"] = facts["all flags sha256"] = Absent(f"{where} lists none")
    facts["CPUs measured on"] = as_text(tuple(pinned)) if pinned else Absent("none were chosen: all that are allowed")
    facts |= placement(pinned, read(root))
    if hasattr(os, "sched_getaffinity"):
        facts["CPUs allowed"] = as_text(tuple(os.sched_getaffinity(0)))
    return facts


def _first(info: dict[str, str], names: tuple[str, ...], where: str) -> Fact:
    return next((entry(info, name, where) for name in names if info.get(name)), Absent(f"{where} does not say"))


def _arrangement(root: Path) -> Facts:
    cpus = online(root)
    if not cpus:
        return {"threads": os.cpu_count() or Absent("the system does not say")}
    cores = {_core(root, number) for number in cpus}
    known = not any(isinstance(part, Absent) for core in cores for part in core)
    unknown = Absent("the kernel does not show the arrangement of the CPUs")

    return {
        "sockets": len({package for package, _ in cores}) if known else unknown,
        "cores": len(cores) if known else unknown,
        "threads": len(cpus),
        "SMT": text(root / _CPU / "smt/control"),
        "SMT active": if_known(lambda active: active == 1, integer(root / _CPU / "smt/active")),
        "isolated CPUs": _or_none(text(root / _CPU / "isolated")),
        "tickless CPUs": _or_none(text(root / _CPU / "nohz_full")),
    }


def _core(root: Path, number: int) -> tuple[int | Absent, int | Absent]:
    topology = root / _CPU / f"cpu{number}/topology"
    return integer(topology / "physical_package_id"), integer(topology / "core_id")


def siblings(cpus: Sequence[int], root: Path = ROOT) -> tuple[int, ...]:
    """Return these CPUs and those that share a core with them (SMT), in order."""
    together = set(cpus)
    for number in cpus:
        shared = text(root / _CPU / f"cpu{number}/topology/thread_siblings_list")
        if not isinstance(shared, Absent):
            together.update(cpu_list(shared))
    return tuple(sorted(together))


def caches(root: Path = ROOT) -> Facts:
    """Return each cache level: its size, and how many of them the machine has (`1024 KiB x 8`)."""
    found: dict[str, set[str]] = {}
    sizes: dict[str, str] = {}
    for folder in _cache_folders(online(root), root):
        level, kind, size = (text(folder / name) for name in ("level", "type", "size"))
        if isinstance(level, Absent) or isinstance(kind, Absent) or isinstance(size, Absent):
            continue
        name = f"L{level}{ {'Data': 'd', 'Instruction': 'i'}.get(kind, '') } cache"
        sizes[name] = size.replace("K", " KiB").replace("M", " MiB")
        found.setdefault(name, set()).add(str(text(folder / "shared_cpu_list")))
    if not found:
        return {"caches": Absent("the kernel shows no caches")}
    return {name: f"{sizes[name]} x {len(instances)}" for name, instances in sorted(found.items())}


def _cache_folders(cpus: Sequence[int], root: Path) -> Iterator[Path]:
    for number in cpus:
        yield from sorted((root / _CPU / f"cpu{number}/cache").glob("index[0-9]*"))


def last_cache_bytes(cpus: Sequence[int], root: Path = ROOT) -> int | Absent:
    """Return the size of the last level of cache, summed over all that belong to some of these CPUs.

    `cpus`: numbers of CPUs. A cache that several of them share counts once.
    """
    found: dict[tuple[int, str], int] = {}
    for folder in _cache_folders(cpus, root):
        level, size = integer(folder / "level"), _SIZE.fullmatch(str(text(folder / "size")))
        if isinstance(level, int) and size is not None:
            found[level, str(text(folder / "shared_cpu_list"))] = int(size[1]) << _SHIFTS[size[2]]
    if not found:
        return Absent("the kernel shows no caches")
    last = max(level for level, _ in found)
    return sum(size for (level, _), size in found.items() if level == last)


def clock(root: Path = ROOT) -> Facts:
    """Return how the frequency is governed; on most virtual machines the kernel cannot say.

    A value that is not the same for all CPUs lists them: `performance (CPUs 0-2), powersave (CPUs 3)`.
    """
    cpus = online(root) or (0,)
    always: Facts = {
        "idle driver": text(root / _CPU / "cpuidle/current_driver"),
        "performance bias": _of_all(cpus, "power/energy_perf_bias", root),
    }
    if not (root / _CPU / f"cpu{cpus[0]}/cpufreq").is_dir():
        why = Absent("the kernel shows no frequency control (usual on a virtual machine)")
        return dict.fromkeys((*_POLICY, "driver mode", "boost"), why) | always
    return {
        **{name: _of_all(cpus, f"cpufreq/{file}", root) for name, file in _POLICY.items()},
        "driver mode": _driver_mode(root),
        "boost": boost(root),
        **always,
    }


_POLICY = {
    "governor": "scaling_governor",
    "driver": "scaling_driver",
    "minimum kHz": "scaling_min_freq",
    "maximum kHz": "scaling_max_freq",
    "hardware minimum kHz": "cpuinfo_min_freq",
    "hardware maximum kHz": "cpuinfo_max_freq",
    "preference": "energy_performance_preference",
}
"""Facts of a CPU's frequency policy, and their files in `cpufreq/` (kernel documentation, admin-guide/pm/cpufreq)."""


def _of_all(cpus: Sequence[int], file: str, root: Path) -> Fact:
    """Return what a file of each CPU says, where all that have it say the same; else each value with its CPUs."""
    answers = {number: text(root / _CPU / f"cpu{number}" / file) for number in cpus}
    found: dict[str, list[int]] = {}
    for number, answer in answers.items():
        if not isinstance(answer, Absent):
            found.setdefault(answer, []).append(number)
    if not found:
        return answers[cpus[0]]
    if len(found) == 1:
        (value,) = found
        return int(value) if value.isdecimal() else value
    return ", ".join(f"{value} (CPUs {as_text(tuple(having))})" for value, having in found.items())


def _driver_mode(root: Path) -> str | Absent:
    """Return whether the processor chooses its frequency (`active`, `guided`) or the kernel does (`passive`)."""
    modes = (text(root / _CPU / driver / "status") for driver in ("intel_pstate", "amd_pstate"))
    return next(
        (mode for mode in modes if not isinstance(mode, Absent)),
        Absent("neither intel_pstate nor amd_pstate controls the frequency"),
    )


def boost(root: Path = ROOT) -> bool | Absent:
    """Say whether the clock may rise above its nominal frequency (turbo)."""
    no_turbo = integer(root / _CPU / "intel_pstate/no_turbo")
    if not isinstance(no_turbo, Absent):
        return no_turbo == 0
    allowed = integer(root / _CPU / "cpufreq/boost")
    return Absent("the kernel does not say") if isinstance(allowed, Absent) else allowed == 1


def mitigations(root: Path = ROOT) -> Facts:
    """Return what the kernel says about each known vulnerability of the processor, and what it does against it."""
    folder = root / _CPU / "vulnerabilities"
    found: Facts = {file.name: text(file) for file in sorted(folder.glob("*"))}
    return found or {"vulnerabilities": Absent("the kernel lists none")}


def _or_none(value: str | Absent) -> str | Absent:
    """Return a list of CPUs, where an empty file means that there are none."""
    if isinstance(value, Absent):
        return "none" if value.reason.endswith("is empty") else value
    return "none" if value == "(null)" else value
