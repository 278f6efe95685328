"""What control groups allow this process: the tightest limit from its own group up to the highest that is shown here.

A limit of a group holds for all groups below it, in versions 1 and 2 (the kernel's admin-guide/cgroup-v1 and
cgroup-v2). A container sees its groups through a namespace or a mount that begins below the real top: what limits it
from further up is not shown to it. `limit_bytes` is what a worker may take of it.
"""

from collections.abc import Iterable
from pathlib import Path, PurePosixPath
from typing import Literal

import msgspec
import psutil

from levelfield.machine.reading import ROOT, Facts, text
from levelfield.record.schema import Absent, Fact

_UNLIMITED = 1 << 60
"""Control groups v1 say "no limit" with a number near 2^63."""
_V1 = {
    "cpu.max": "cpu.cfs_quota_us",
    "memory.max": "memory.limit_in_bytes",
    "cpuset.cpus.effective": "cpuset.effective_cpus",
    "cpuset.mems.effective": "cpuset.effective_mems",
}
"""Files of version 1 by those of version 2 that say the same."""


class _Mount(msgspec.Struct, frozen=True):
    top: PurePosixPath
    """The group that is shown as the mount's own folder."""
    folder: Path
    controllers: frozenset[str]
    """Of version 1; none: version 2."""


def limits(root: Path = ROOT) -> Facts:
    """Return the control groups' version and what they allow this process: CPU time, memory, CPUs and NUMA nodes."""
    mounts = _mounts(root)
    if not mounts:
        why = Absent("no control groups are mounted")
        return dict.fromkeys(("cgroup version", "CPU limit", "memory limit bytes", "CPU set", "memory nodes"), why)
    return {
        "cgroup version": 1 if any(mount.controllers for mount in mounts) else 2,
        "CPU limit": _tightest(map(_quota, groups("cpu", root))),
        "memory limit bytes": _tightest(_memory(group) for group in groups("memory", root)),
        "CPU set": _nearest("cpuset", "cpuset.cpus.effective", root),
        "memory nodes": _nearest("cpuset", "cpuset.mems.effective", root),
    }


def throttling_files(root: Path = ROOT, process: int | Literal["self"] = "self") -> list[Path]:
    """Return the files that count how often a quota stopped a process's groups; none where no group has a quota."""
    return [group / "cpu.stat" for group in groups("cpu", root, process) if _quota(group) is not None]


def groups(controller: str, root: Path = ROOT, process: int | Literal["self"] = "self") -> list[Path]:
    """Return the folders of a process's groups that may hold limits of a controller, its own group's first."""
    content = text(root / f"proc/{process}/cgroup")
    own: dict[str, PurePosixPath] = {}
    for line in () if isinstance(content, Absent) else content.splitlines():
        _, names, group = line.split(":", 2)
        own.update(dict.fromkeys(names.split(","), PurePosixPath(group)))
    mounts = _mounts(root)
    version_1 = [mount for mount in mounts if controller in mount.controllers]
    mounts = version_1 or [mount for mount in mounts if not mount.controllers]
    if not mounts:
        return []
    mount = min(mounts, key=lambda each: len(each.top.parts))  # the one that shows most
    path = own.get(controller if version_1 else "", mount.top)
    # A process may be outside what is mounted here (`/../..` in a namespace): then only the mount's top is known.
    seen = path.is_relative_to(mount.top) and ".." not in path.parts
    below = path.relative_to(mount.top) if seen else PurePosixPath()
    return [mount.folder / part for part in (below, *below.parents)]


def _mounts(root: Path) -> list[_Mount]:
    """Return the mounted hierarchies (proc_pid_mountinfo(5)), but those of version 1 without a controller."""
    content = text(root / "proc/self/mountinfo")
    found = []
    for line in () if isinstance(content, Absent) else content.splitlines():
        before, _, after = line.partition(" - ")
        kind, _, options = (after.split() + [""] * 3)[:3]
        if kind in {"cgroup", "cgroup2"} and "name=" not in options:
            _, _, _, top, point, *_ = before.split()
            names = options.split(",") if kind == "cgroup" else []
            found.append(_Mount(PurePosixPath(top), root / point.lstrip("/"), frozenset(names)))
    return found


def _quota(group: Path) -> float | None:
    """Return how many CPUs' worth of time a group may use; None: it has no limit."""
    words = f"{_read(group, 'cpu.max') or 'max'}".split()
    period = words[1] if len(words) > 1 else _read(group, "cpu.cfs_period_us") or "100000"
    return None if words[0] in {"max", "-1"} else int(words[0]) / int(period)


def _memory(group: Path) -> int | None:
    """Return how many bytes a group may use before it is slowed down or killed; None: it has no limit."""
    sizes = [_read(group, name) for name in ("memory.max", "memory.high")]
    return min((int(size) for size in sizes if size and size != "max" and int(size) < _UNLIMITED), default=None)


def _read(group: Path, name: str) -> str | None:
    """Return the content of a group's file of version 2, or of the one of version 1 that says the same."""
    found = (text(group / each) for each in (name, _V1.get(name, name)))
    return next((content for content in found if isinstance(content, str)), None)


def _nearest(controller: str, name: str, root: Path) -> str | Absent:
    """Return what the lowest group that has a file says in it: sets that are in effect are within those above."""
    found = (_read(group, name) for group in groups(controller, root))
    return next((content for content in found if content), Absent(f"no control group of this process has {name}"))


def _tightest(values: Iterable[float | None]) -> Fact:
    return min((value for value in values if value is not None), default="none")


SHARE = 0.75
"""Of the memory of the machine, of one NUMA node, or of what control groups allow."""
MOST_BYTES = 12 << 30


def limit_bytes(node_bytes: int | None = None, root: Path = ROOT) -> int:
    """Return what a worker may take: a share of the memory that there is for it, up to 12 GiB.

    `node_bytes`: memory of the NUMA node that it is bound to; None: it is bound to none.
    """
    allowed = limits(root)["memory limit bytes"]
    there = [node_bytes or psutil.virtual_memory().total, *([allowed] if isinstance(allowed, int) else [])]
    return min(MOST_BYTES, int(min(there) * SHARE))
