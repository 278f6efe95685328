"""What runs on Ray's own nodes of this machine: Ray's processes, those that measure, and containers of workers."""

import contextlib
from collections.abc import Sequence
from typing import NamedTuple

import psutil

from levelfield_fleet.run import guard, local

MEASURES = frozenset({"levelfield_fleet.run.node", "levelfield.cli", "levelfield.worker"})
"""Modules of the processes that measure, as against those of Ray."""
_PAUSE_S = 0.05


class Processes(NamedTuple):
    ray: list[psutil.Process]
    measuring: list[psutil.Process]


def of_cluster() -> Processes:
    """Return what runs below the guards of the nodes that this process started."""
    found = Processes([], [])
    for each in psutil.Process().children():
        with contextlib.suppress(psutil.NoSuchProcess):
            if runs(each) and guard.__name__ in each.cmdline():
                for below in each.children(recursive=True):
                    (found.measuring if measures(below) else found.ray).append(below)
    return found


def of_node(number: int) -> list[psutil.Process]:
    """Return the raylet of a node, and all that runs below it."""
    name = local.name_of(number)
    (raylet,) = (each for each in of_cluster().ray if _is_raylet(each, name))
    return [raylet, *raylet.children(recursive=True)]


def _is_raylet(process: psutil.Process, name: str) -> bool:
    try:
        return process.name() == "raylet" and any(name in word for word in process.cmdline())
    except psutil.NoSuchProcess:
        return False


def measures(process: psutil.Process) -> bool:
    """Return whether a process is one of those that measure, and has not ended."""
    try:
        return bool(MEASURES & set(process.cmdline()))
    except psutil.NoSuchProcess:
        return False


def runs(process: psutil.Process) -> bool:
    """Return whether a process has not ended. It may end at any moment, and between two questions."""
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def still_there(processes: Sequence[psutil.Process]) -> list[psutil.Process]:
    return [each for each in processes if runs(each)]
