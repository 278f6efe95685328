"""The environment of this process: distribution, C library, Python, its limits, hypervisor and container."""

import platform
import subprocess
import sys
from pathlib import Path

from suite.machine.reading import ROOT, Facts, entry, if_known, table, text
from suite.record.schema import Absent, Fact

_DMI = Path("sys/class/dmi/id")
_CONTAINER_FILES = {".dockerenv": "docker", "run/.containerenv": "podman"}
_UNLIMITED = 1 << 60
"""Control groups v1 say "no limit" with a number near 2^63."""


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


def limits(root: Path = ROOT) -> Facts:
    """Return the control group version and what it allows this process: CPUs, time, memory and its NUMA nodes."""
    mount, groups = root / "sys/fs/cgroup", _groups(root)

    def own(controller: str, name: str) -> str | Absent:
        """Read a file of the process's own group, or of the top one where the group is outside what is mounted here."""
        found = text(mount / controller / groups.get(controller, "/").strip("/") / name)
        return text(mount / controller / name) if isinstance(found, Absent) else found

    if (mount / "cgroup.controllers").exists():
        version, quota = 2, own("", "cpu.max")
        memory, cpus = own("", "memory.max"), own("", "cpuset.cpus.effective")
        nodes = own("", "cpuset.mems.effective")
    elif any((mount / controller).is_dir() for controller in ("memory", "cpu", "cpuset")):
        version, quota = 1, if_known("{} {}".format, own("cpu", "cpu.cfs_quota_us"), own("cpu", "cpu.cfs_period_us"))
        memory, cpus = own("memory", "memory.limit_in_bytes"), own("cpuset", "cpuset.effective_cpus")
        nodes = own("cpuset", "cpuset.effective_mems")
    else:
        why = Absent("/sys/fs/cgroup shows no control groups")
        return dict.fromkeys(("cgroup version", "CPU limit", "memory limit bytes", "CPU set", "memory nodes"), why)
    return {
        "cgroup version": version,
        "CPU limit": if_known(lambda words: _quota(*words.split()), quota),
        "memory limit bytes": if_known(_bytes, memory),
        "CPU set": cpus,
        "memory nodes": nodes,
    }


def _groups(root: Path) -> dict[str, str]:
    """Return the control group of this process by controller; version 2 has the empty name."""
    content = text(root / "proc/self/cgroup")
    found: dict[str, str] = {}
    for line in () if isinstance(content, Absent) else content.splitlines():
        _, controllers, path = line.split(":", 2)
        found.update(dict.fromkeys(controllers.split(","), path))
    return found


def _quota(quota: str, period: str = "100000") -> float | str:
    """Return how many CPUs' worth of time the group may use."""
    return "none" if quota in {"max", "-1"} else int(quota) / int(period)


def _bytes(value: str) -> int | str:
    return "none" if value == "max" or int(value) >= _UNLIMITED else int(value)


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
