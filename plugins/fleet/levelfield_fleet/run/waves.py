"""Which nodes measure next, and what a node of the cluster is called."""

from collections.abc import Collection, Iterable, Iterator

import msgspec

from levelfield_fleet.run.events import NodeSeen
from levelfield_fleet.run.state import NodeState, State


class Seen(msgspec.Struct, frozen=True):
    """A node of the cluster that is alive."""

    ray_id: str
    machine: str = ""
    """As in `NodeSeen`."""
    host: str = ""
    """Its own name, where the user asked for names; empty: it gets a number."""
    cpus: float = 0.0
    gpus: float = 0.0
    """What Ray may give away there."""


def next_nodes(
    state: State, running: Collection[str], alive: Collection[str], *, at_once: int | None, tries: int
) -> list[str]:
    """Return the nodes that may begin now, those with the fewest runs first, and of these with the fewest failures.

    `at_once`: how many may measure at the same time; None: all.
    """
    waiting = [
        node
        for node in state.nodes.values()
        if node.name not in running and node.ray_id in alive and is_unfinished(state, node, tries)
    ]
    waiting.sort(key=lambda node: (len(node.runs), node.failures, node.index))
    free = len(waiting) if at_once is None else max(at_once - len(running), 0)
    return [node.name for node in waiting[:free]]


def is_unfinished(state: State, node: NodeState, tries: int) -> bool:
    """Return whether a node lacks a run and may still get it."""
    return not state.has_all(node) and not node.refused and node.failures < tries


def newly_seen(state: State, alive: Iterable[Seen], at: str) -> Iterator[NodeSeen]:
    """Yield an event for each node that was not seen before, or that has another id now.

    A node keeps its name where Ray was started again on its machine. Names are numbers in the order of the ids, so that
    they say nothing of the host.
    """
    here = sorted(alive, key=lambda each: each.ray_id)
    ids = {each.ray_id for each in here}
    known = {node.ray_id for node in state.nodes.values()}
    gone = {node.machine: node for node in state.nodes.values() if node.machine and node.ray_id not in ids}
    taken = set(state.nodes)
    for each in here:
        if each.ray_id in known:
            continue
        before = gone.pop(each.machine, None) if each.machine else None
        name = before.name if before is not None else _free(each.host, taken)
        taken.add(name)
        yield NodeSeen(at, name, each.ray_id, each.machine)


def _free(host: str, taken: Collection[str]) -> str:
    if host and host not in taken:
        return host
    prefix = f"{host[:50]}-" if host else "node-"
    number = next(number for number in range(1, len(taken) + 2) if f"{prefix}{number:02}" not in taken)
    return f"{prefix}{number:02}"
