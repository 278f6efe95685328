"""Lists of CPUs as the kernel writes them."""

import itertools
from collections.abc import Iterable


def cpu_list(content: str) -> tuple[int, ...]:
    """Read the kernel's way of listing CPUs: `0-2,5` gives (0, 1, 2, 5).

    Raises ValueError: when it is something else.
    """
    cpus: list[int] = []
    for part in filter(None, content.strip().split(",")):
        first, _, last = part.partition("-")
        cpus.extend(range(int(first), int(last or first) + 1))
    return tuple(cpus)


def as_text(cpus: Iterable[int]) -> str:
    """Write CPUs the kernel's way: (0, 1, 2, 5) gives `0-2,5`."""
    # Within a range of neighbours, a number and its index grow alike.
    runs = [list(run) for _, run in itertools.groupby(enumerate(sorted(cpus)), lambda pair: pair[1] - pair[0])]
    return ",".join(f"{run[0][1]}-{run[-1][1]}" if len(run) > 1 else str(run[0][1]) for run in runs)
