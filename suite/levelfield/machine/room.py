"""Room to run in: disk, memory, and the CPUs this process may use."""

import os
from pathlib import Path

from levelfield.machine import topology
from levelfield.machine.control_groups import limits
from levelfield.machine.findings import Finding, Needs, bad, gibibytes, ok, warn
from levelfield.machine.reading import ROOT, kibibytes, online, table
from levelfield.record import notices
from levelfield.record.cpu_lists import as_text
from levelfield.record.schema import Absent

_BYTES_OF_A_FILE = 50_000
"""Installed frameworks have 20 to 70 kB a file."""


def disks(needs: Needs) -> list[Finding]:
    """Check each disk that gets filled, once, for what all folders on it need."""
    first: dict[int, Path] = {}
    needed: dict[int, int] = {}
    for folder, count_bytes in needs.folders.items():
        place = _existing(folder.expanduser().absolute())
        device = place.stat().st_dev
        first.setdefault(device, place)
        needed[device] = needed.get(device, 0) + count_bytes
    return [disk(folder, needed[device]) for device, folder in first.items()]


def _existing(folder: Path) -> Path:
    return next(parent for parent in (folder, *folder.parents) if parent.exists())


def disk(folder: Path, needed_bytes: int) -> Finding:
    """Check that a disk has the space and the inodes that a run needs, and may be written."""
    topic = "disk"
    fix = "Free some: levelfield images clean removes images and caches; or set LEVELFIELD_CACHE to another disk."
    there = os.statvfs(folder)
    free_bytes = there.f_bavail * there.f_frsize
    message = f"{gibibytes(free_bytes)} free at {folder}; what is still to be made takes {gibibytes(needed_bytes)}"
    if there.f_flag & os.ST_RDONLY:
        return bad(topic, f"{folder} is on a disk that is mounted read-only.", "Set LEVELFIELD_CACHE to another disk.")
    if free_bytes < needed_bytes:
        return bad(topic, f"{message}.", fix)
    if there.f_files and there.f_favail < needed_bytes / _BYTES_OF_A_FILE:
        return bad(topic, f"{message}, and only {there.f_favail} inodes are free (`df -i`).", fix)
    return ok(topic, f"{message}.")


def memory(needs: Needs, root: Path = ROOT) -> Finding:
    """Compare the available memory, within this process's limit, with what the largest worker needs."""
    topic = "memory"
    available = kibibytes(table(root / "proc/meminfo"), "MemAvailable")
    if isinstance(available, Absent):
        return warn(topic, f"How much is available is not known: {available.reason}.", "Look for yourself.")
    limit = limits(root)["memory limit bytes"]
    if isinstance(limit, int) and limit < available:
        available = limit
    message = f"{gibibytes(available)} available"
    if available < needs.memory_bytes:
        fix = "Close other programs, or choose with --models and --backends."
        return warn(topic, f"{message}; the largest workers need {gibibytes(needs.memory_bytes)}.", fix)
    return ok(topic, f"{message}.")


def cpus(root: Path = ROOT) -> Finding:
    """Say how many CPUs there are, and what a mask, a control group's set or a quota takes away."""
    return cpus_allowed(online(root), topology.read(root))


def nodes(root: Path = ROOT) -> list[Finding]:
    """Say which CPUs and how much memory each NUMA node has, where there are several."""
    found = topology.read(root).nodes
    if len(found) < 2:
        return []
    listed = "; ".join(map(topology.in_words, found))
    return [ok("NUMA", f"{len(found)} nodes ({listed}). Workers are pinned within one, unless --cpus says otherwise.")]


def cpus_allowed(present: tuple[int, ...], arranged: topology.Topology) -> Finding:
    """Check the CPUs that this process may use; of several faults the one that distorts most is named."""
    topic, allowed = "CPUs", arranged.allowed
    for notice in notices.of_cpus(len(allowed), arranged.quota):
        return warn(topic, notice.message, notice.remedy)
    if len(allowed) < len(present):
        return ok(topic, f"{len(allowed)} of {len(present)} may be used ({as_text(allowed)}).")
    return ok(topic, f"{len(present)} ({as_text(present)}).")
