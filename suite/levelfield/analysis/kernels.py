"""What computes the matrix products and convolutions of an arm: library and instruction set, as it reports."""

from levelfield.analysis import collect
from levelfield.record.schema import Launch, Run

NAME = "products computed by"


def in_words(launch: Launch, *, counted: bool = True) -> str:
    """Return what computes, or why that is not known; empty where it was not recorded."""
    computed = launch.computed
    if computed is None or not (computed.kernels or computed.kernels_source):
        return ""
    if not computed.kernels:
        return computed.kernels_source
    most_first = sorted(computed.kernels.items(), key=lambda each: (-each[1], each[0]))
    return "; ".join(f"{name} ({count})" if counted else name for name, count in most_first)


def with_most_by(library: str, run: Run) -> dict[str, Launch]:
    """Return, by arm, the launch in which a library computes the most products; only of arms that it serves."""
    most: dict[str, tuple[int, Launch]] = {}
    for block in run.blocks:
        for _, launch in collect.launches(block):
            kernels = launch.computed.kernels if launch.computed is not None else {}
            count = sum(each for name, each in kernels.items() if name.startswith(library))
            if count > most.get(launch.arm, (0, launch))[0]:
                most[launch.arm] = count, launch
    return {arm: launch for arm, (_, launch) in most.items()}
