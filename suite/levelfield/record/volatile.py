"""Facts of a fingerprint that differ between two readings of the same machine in the same state."""


def is_volatile(group: str, name: str) -> bool:
    """Return whether a fact is measured anew each time, or follows the load of the moment."""
    return (group, name) == ("kernel", "timer step ns") or (group == "gpu" and name.endswith(" PCIe generation now"))
