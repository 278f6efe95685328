"""Which CPUs workers are pinned to: one of every core first, second hyper-threads only where more are asked for."""

from collections.abc import Sequence
from pathlib import Path

from suite.errors import LevelfieldError
from suite.plan.names import rising


def counts(requested: Sequence[int], available: Sequence[int]) -> tuple[int, ...]:
    """Return the numbers of threads to measure with, in rising order.

    Parameters
    ----------
    requested
        Numbers that the user named; empty: one thread for every core.
    available
        Numbers of the CPUs that this process may use.

    Raises
    ------
    LevelfieldError
        A number is below one, above that of the CPUs, or named twice.
    """
    if not requested:
        return (len({core(cpu) for cpu in available}),)
    for threads in requested:
        if threads < 1:
            raise LevelfieldError(
                f"{threads} threads cannot compute anything.", fix="Choose at least 1 with --threads."
            )
        if threads > len(available):
            raise LevelfieldError(
                f"{threads} threads were asked for, and this process may use {len(available)} CPUs.",
                fix=f"Choose --threads {len(available)} or fewer: more threads than CPUs measure the scheduler.",
            )
    return rising("--threads", requested)


def pinned(threads: int, cpus: Sequence[int]) -> tuple[int, ...]:
    """Choose CPUs to pin workers to, one of every core first.

    Parameters
    ----------
    threads
        How many to choose.
    cpus
        Numbers of the CPUs to choose from.

    Returns
    -------
    tuple of int
        Sorted; all of `cpus` where there are no more.
    """
    return tuple(sorted(_one_per_core_first(cpus)[:threads]))


def _one_per_core_first(available: Sequence[int]) -> list[int]:
    first: list[int] = []
    rest: list[int] = []
    seen: set[str] = set()
    for cpu in available:
        name = core(cpu)
        (rest if name in seen else first).append(cpu)
        seen.add(name)
    return first + rest


def core(cpu: int) -> str:
    """Return the list of hyper-threads that `cpu` shares a core with, as the kernel writes it; itself if unknown."""
    try:
        return Path(f"/sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list").read_text().strip()
    except OSError:
        return str(cpu)
