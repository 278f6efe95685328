"""How much memory one worker may take."""

import psutil

SHARE = 0.75
"""Of the memory of the machine, or of one NUMA node."""
MOST_BYTES = 12 << 30


def limit_bytes(node_bytes: int | None = None) -> int:
    """Return what a worker may take: a share of the NUMA node that it is bound to, or of the machine, up to 12 GiB.

    Parameters
    ----------
    node_bytes
        Memory of the node; None: it is bound to none.
    """
    return min(MOST_BYTES, int((node_bytes or psutil.virtual_memory().total) * SHARE))
