"""The environment of this process: distribution, C library, Python, hypervisor and container."""

import platform
import re
import subprocess
import sys
import time
from itertools import pairwise
from pathlib import Path

from levelfield.machine.reading import ROOT, Facts, chosen, entry, if_known, integer, kibibytes, table, text
from levelfield.machine.topology import layout, read
from levelfield.record.schema import Absent, Fact

_DMI = Path("sys/class/dmi/id")
_CONTAINER_FILES = {".dockerenv": "docker", "run/.containerenv": "podman"}


def system(root: Path = ROOT) -> Facts:
    """Return names and versions of what runs Levelfield itself."""
    release = table(root / "etc/os-release")
    libc, version = platform.libc_ver()
    return {
        "distribution": entry(release, "PRETTY_NAME", "/etc/os-release"),
        "distribution version": text(root / "etc/debian_version")
        if release.get("ID") == "debian"
        else entry(release, "VERSION_ID", "/etc/os-release"),
        "C library": f"{libc} {version}" if libc else Absent("Python does not know it"),
        "Python": platform.python_version(),
        "Python implementation": platform.python_implementation(),
        "Python compiler": platform.python_compiler(),
        "Python build": "free-threaded" if not _has_gil() else "with GIL",
    }


def _has_gil() -> bool:
    ask = getattr(sys, "_is_gil_enabled", None)
    return True if ask is None else bool(ask())


def virtualisation(root: Path = ROOT) -> Facts:
    """Return every hint of a hypervisor or container. Serial numbers and identifiers are never read."""
    flags = table(root / "proc/cpuinfo").get("flags", "").split()
    return {
        "hypervisor flag": "hypervisor" in flags if flags else Absent("/proc/cpuinfo lists no flags"),
        "hypervisor": _hypervisor(root),
        "detected": detected() if root == ROOT else Absent("another root was asked for"),
        "container": container(root),
        "vendor": text(root / _DMI / "sys_vendor"),
        "product": text(root / _DMI / "product_name"),
        "board": text(root / _DMI / "board_name"),
        "firmware": text(root / _DMI / "bios_version"),
        "firmware date": text(root / _DMI / "bios_date"),
    }


def detected() -> str | Absent:
    """Run systemd-detect-virt, where it is installed; it exits 1 and says `none` on bare metal."""
    try:
        answer = subprocess.run(["systemd-detect-virt"], capture_output=True, text=True, timeout=5, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        return Absent(f"systemd-detect-virt does not answer: {error.__class__.__name__}")
    return answer.stdout.strip() or Absent("systemd-detect-virt says nothing")


def container(root: Path = ROOT) -> str:
    """Return the container that this process runs in, by the files that engines create; `none` where there are none."""
    for name, engine in _CONTAINER_FILES.items():
        if (root / name).exists():
            return engine
    named = text(root / "run/systemd/container")
    return "none" if isinstance(named, Absent) else named


def _hypervisor(root: Path) -> Fact:
    """Return the hypervisor as the kernel names it, or as its release and devices show."""
    named = text(root / "sys/hypervisor/type")
    if not isinstance(named, Absent):
        return named
    kernel = str(text(root / "proc/sys/kernel/osrelease"))
    if "microsoft" in kernel.lower():
        return "WSL (Hyper-V)"
    if "firecracker" in kernel or "-fc-" in kernel or "firecracker" in str(text(root / "proc/cmdline")):
        return "Firecracker (KVM)"
    clocks = str(text(root / "sys/devices/system/clocksource/clocksource0/available_clocksource"))
    hints = {"kvm-clock": "KVM", "hyperv_clocksource_tsc_page": "Hyper-V", "xen": "Xen"}
    return next((name for clock, name in hints.items() if clock in clocks), Absent("the kernel names none"))


_KEPT = re.compile(
    r"mitigations|isolcpus|nohz(_full)?|rcu_nocbs|rcu_nocb_poll|irqaffinity|nosmt|maxcpus|nr_cpus|possible_cpus|"
    r"(intel|amd)_pstate|(intel|amd)_iommu|iommu|(intel_)?idle[._a-z]*|processor[._a-z]*|cpuidle[._a-z]*|cpufreq[._a-z]*|"
    r"haltpoll[._a-z]*|transparent_hugepage|hugepages|hugepagesz|default_hugepagesz|numa(_balancing)?|mem|"
    r"swapaccount|cgroup[._a-z0-9]*|systemd\.unified_cgroup_hierarchy|psi|zswap[._a-z]*|kpti|pti|nopti|"
    r"spectre_v2(_user)?|spec_[a-z_]+|nospectre_v[12]|nospec_[a-z_]+|l1tf|mds|tsx(_async_abort)?|srbds|"
    r"retbleed|mmio_stale_data|gather_data_sampling|clocksource|tsc|hpet|preempt|threadirqs|skew_tick|"
    r"nmi_watchdog|nowatchdog|nosoftlockup|sched_[a-z_]+|workqueue[._a-z]*|kvm[._a-z-]*|norandmaps|page_poison|"
    r"init_on_(alloc|free)|slub_debug|kfence[._a-z]*|audit|selinux|apparmor|pcie_aspm[._a-z]*|"
    r"nvidia[._A-Za-z-]*|random\.trust_cpu|swiotlb|nokaslr|quiet|splash|ro|rw"
)
"""Parameters whose values say something about speed and nothing about whose machine it is."""
_PAGES = Path("sys/kernel/mm/transparent_hugepage")
_SIZES = Path("sys/kernel/mm/hugepages")
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_.-]{0,39}")


def kernel(root: Path = ROOT) -> Facts:
    """Return version, boot parameters, clock source and settings of the scheduler."""
    tunables = sorted((root / "proc/sys/kernel").glob("sched_*"))
    facts: Facts = {
        "system": platform.system(),
        "release": text(root / "proc/sys/kernel/osrelease"),
        "version": text(root / "proc/sys/kernel/version"),
        "architecture": platform.machine(),
        "boot parameters": boot_parameters(text(root / "proc/cmdline")),
        "clock source": text(root / "sys/devices/system/clocksource/clocksource0/current_clocksource"),
        "timer step ns": timer_step_ns(),
        "timer Hz": _timer_hertz(root),
        "address randomisation": integer(root / "proc/sys/kernel/randomize_va_space"),
        "watchdog": integer(root / "proc/sys/kernel/nmi_watchdog"),
        "perf_event_paranoid": integer(root / "proc/sys/kernel/perf_event_paranoid"),
        "scheduler extension": text(root / "sys/kernel/sched_ext/state"),
        "pressure information": if_known(lambda _: True, text(root / "proc/pressure/cpu")),
        "security modules": text(root / "sys/kernel/security/lsm"),
    }
    facts.update({file.name: text(file) for file in tunables if file.is_file()})
    return facts


def memory(root: Path = ROOT) -> Facts:
    """Return sizes in bytes and the settings of the virtual memory that change speed."""
    info = table(root / "proc/meminfo")
    nodes = text(root / "sys/devices/system/node/online")
    return {
        "total bytes": kibibytes(info, "MemTotal"),
        "swap bytes": kibibytes(info, "SwapTotal"),
        "huge pages reserved": entry(info, "HugePages_Total", "/proc/meminfo"),
        "huge page bytes": kibibytes(info, "Hugepagesize"),
        **_other_huge_pages(info, root),
        "transparent huge pages": chosen(root / _PAGES / "enabled"),
        "transparent huge pages defrag": chosen(root / _PAGES / "defrag"),
        "NUMA nodes": nodes,
        **layout(read(root)),
        "NUMA balancing": integer(root / "proc/sys/kernel/numa_balancing"),
        "swappiness": integer(root / "proc/sys/vm/swappiness"),
        "overcommit": integer(root / "proc/sys/vm/overcommit_memory"),
        "same-page merging": integer(root / "sys/kernel/mm/ksm/run"),
        "zone reclaim": integer(root / "proc/sys/vm/zone_reclaim_mode"),
        "compaction proactiveness": integer(root / "proc/sys/vm/compaction_proactiveness"),
    }


def _other_huge_pages(info: dict[str, str], root: Path) -> Facts:
    """Return how many huge pages of each size but the default one are reserved."""
    default = info.get("Hugepagesize", "").removesuffix(" kB")
    sizes = sorted(folder.name.removeprefix("hugepages-") for folder in (root / _SIZES).glob("hugepages-*kB"))
    return {
        f"huge pages of {size.removesuffix('kB')} KiB": integer(root / _SIZES / f"hugepages-{size}/nr_hugepages")
        for size in sizes
        if size != f"{default}kB"
    }


def boot_parameters(line: str | Absent) -> str | Absent:
    """Keep the parameters that concern speed; of all others only the name.

    What follows `--` goes to the first process and is left out, and so is whatever is not a plain name: disks, network
    addresses and identifiers stay private.
    """
    if isinstance(line, Absent):
        return line
    kept: list[str] = []
    for part in line.split():
        if part == "--":
            break
        name, equals, _ = part.partition("=")
        if _KEPT.fullmatch(name):
            kept.append(part)
        elif _NAME.fullmatch(name):
            kept.append(f"{name}=…" if equals else name)
    return " ".join(kept) or Absent("there are none")


def timer_step_ns(readings: int = 2000) -> int:
    """Return the smallest step seen between readings of the clock that samples are timed with, in nanoseconds."""
    ticks = [time.perf_counter_ns() for _ in range(readings)]
    return min((after - before for before, after in pairwise(ticks) if after > before), default=0)


def _timer_hertz(root: Path) -> int | Absent:
    release = text(root / "proc/sys/kernel/osrelease")
    hertz = table(root / f"boot/config-{release}").get("CONFIG_HZ", "")
    return int(hertz) if hertz.isdecimal() else Absent("the kernel's configuration is not in /boot")
