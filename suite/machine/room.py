"""Room to run in: disk, memory, and the CPUs this process may use."""

import shutil
from pathlib import Path

from suite.machine import topology
from suite.machine.control_groups import limits
from suite.machine.findings import Finding, Needs, bad, gibibytes, ok, warn
from suite.machine.reading import ROOT, kibibytes, online, table
from suite.record import notices
from suite.record.cpu_lists import as_text
from suite.record.schema import Absent


def disks(needs: Needs) -> list[Finding]:
    """Check each disk that gets filled, once."""
    found: dict[int, Finding] = {}
    for name in needs.folders:
        folder = _existing(Path(name).expanduser().absolute())
        found.setdefault(folder.stat().st_dev, disk(folder, shutil.disk_usage(folder).free, needs))
    return list(found.values())


def _existing(folder: Path) -> Path:
    return next(parent for parent in (folder, *folder.parents) if parent.exists())


def disk(folder: Path, free_bytes: int, needs: Needs) -> Finding:
    """Compare the free space of a disk with what a run needs.

    Parameters
    ----------
    folder
        A folder on the disk, named in the message.
    free_bytes
        What is free there, in bytes.
    needs
        Below `disk_least_bytes` the finding is `bad`, below `disk_bytes` it is a warning.
    """
    topic, fix = (
        "disk",
        "Free some: levelfield clean removes images and caches; or set LEVELFIELD_CACHE to another disk.",
    )
    message = f"{gibibytes(free_bytes)} free at {folder}"
    if free_bytes < needs.disk_least_bytes:
        return bad(topic, f"{message}, too little for even one framework.", fix)
    if free_bytes < needs.disk_bytes:
        return warn(topic, f"{message}; all frameworks take about {gibibytes(needs.disk_bytes)}.", fix)
    return ok(topic, f"{message}.")


def memory(needs: Needs, root: Path = ROOT) -> Finding:
    """Compare the available memory, within this process's limit, with what the largest worker needs.

    Parameters
    ----------
    needs
        Below `memory_bytes` the finding is a warning.
    root
        Root of the file system that is read.
    """
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
    """Check the CPUs that this process may use; of several faults the one that distorts most is named.

    Parameters
    ----------
    present
        Numbers of the CPUs that are online.
    """
    topic, allowed = "CPUs", arranged.allowed
    for notice in notices.of_cpus(len(allowed), arranged.quota):
        return warn(topic, notice.message, notice.remedy)
    if len(allowed) < len(present):
        return ok(topic, f"{len(allowed)} of {len(present)} may be used ({as_text(allowed)}).")
    return ok(topic, f"{len(present)} ({as_text(present)}).")
