"""The environment of this process: distribution, C library, Python, hypervisor and container."""

import platform
import subprocess
import sys
from pathlib import Path

from levelfield.machine.reading import ROOT, Facts, entry, table, text
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
