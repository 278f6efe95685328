"""How much memory one worker may take."""

from pathlib import Path

import psutil

from levelfield.machine.control_groups import limits
from levelfield.machine.reading import ROOT

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
