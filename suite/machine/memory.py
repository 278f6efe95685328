"""Main memory: how much, in which pages, and on how many nodes."""

from pathlib import Path

from suite.machine.reading import ROOT, Facts, chosen, integer, table, text
from suite.record.schema import Absent

_PAGES = Path("sys/kernel/mm/transparent_hugepage")


def memory(root: Path = ROOT) -> Facts:
    """Return sizes in bytes and the settings of the virtual memory that change speed."""
    info = table(root / "proc/meminfo")
    nodes = text(root / "sys/devices/system/node/online")
    return {
        "total bytes": kibibytes(info, "MemTotal"),
        "swap bytes": kibibytes(info, "SwapTotal"),
        "huge pages reserved": _count(info, "HugePages_Total"),
        "huge page bytes": kibibytes(info, "Hugepagesize"),
        "transparent huge pages": chosen(root / _PAGES / "enabled"),
        "transparent huge pages defrag": chosen(root / _PAGES / "defrag"),
        "NUMA nodes": nodes,
        "NUMA balancing": integer(root / "proc/sys/kernel/numa_balancing"),
        "swappiness": integer(root / "proc/sys/vm/swappiness"),
        "overcommit": integer(root / "proc/sys/vm/overcommit_memory"),
        "same-page merging": integer(root / "sys/kernel/mm/ksm/run"),
        "zone reclaim": integer(root / "proc/sys/vm/zone_reclaim_mode"),
        "compaction proactiveness": integer(root / "proc/sys/vm/compaction_proactiveness"),
    }


def kibibytes(info: dict[str, str], name: str) -> int | Absent:
    """Return an entry of `/proc/meminfo` (`24684096 kB`) in bytes.

    Parameters
    ----------
    info
        The file's entries, by name.
    name
        Such as `MemTotal`.

    Returns
    -------
    int or Absent
        Bytes: the file's kB are units of 1,024 (proc_meminfo(5)). Absent where there is no such entry.
    """
    number, _, unit = info.get(name, "").partition(" ")
    if not number.isdecimal() or unit != "kB":
        return Absent(f"/proc/meminfo does not say {name}")
    return int(number) * 1024


def _count(info: dict[str, str], name: str) -> int | Absent:
    value = info.get(name, "")
    return int(value) if value.isdecimal() else Absent(f"/proc/meminfo does not say {name}")
