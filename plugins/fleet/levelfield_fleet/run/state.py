"""How far a fleet's run is, a pure fold of its journal; and which nodes measure next.

An attempt that has no end was cut off with the head: it does not count against the tries of its node.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping
from pathlib import Path

import msgspec

from levelfield.errors import LevelfieldError
from levelfield.record.append_only import Lost
from levelfield_fleet.run import journal
from levelfield_fleet.run.journal import AttemptBegun, AttemptFailed, Begun, Event, NodeDone, NodeSeen, Resumed


class NodeState(msgspec.Struct, frozen=True):
    name: str
    ray_id: str
    """The newest."""
    machine: str
    index: int
    """In the order in which nodes were seen."""
    attempts: int = 0
    failures: int = 0
    """Since the last run came back, or the fleet was resumed."""
    refused: bool = False
    reason: str = ""
    """Of the last failure."""
    runs: tuple[NodeDone, ...] = ()
    """That came back."""


class State(msgspec.Struct, frozen=True):
    begun: Begun
    nodes: Mapping[str, NodeState] = {}
    """By name, in the order in which they were seen."""

    def known_runs(self) -> frozenset[str]:
        return frozenset(run.run for node in self.nodes.values() for run in node.runs)

    def has_all(self, node: NodeState) -> bool:
        return len(node.runs) >= self.begun.repeat

    def seed(self, node: str) -> int:
        """Return the seed of the schedule of a node's next run."""
        found = self.nodes[node]
        return (self.begun.seed + found.index * self.begun.repeat + len(found.runs)) % 2**63


def load(name: str, reports: Path) -> State:
    """Read how far a fleet is. Raises LevelfieldError: there is none, or its journal is newer or damaged."""
    return fold(journal.read(name, reports))


def fold(events: Iterable[Event | Lost]) -> State:
    """Build the state from a journal.

    Raises LevelfieldError: a line is damaged, or the events do not belong together. Runs that came back are not
    touched.
    """
    stream = iter(events)
    first = next(stream, None)
    if not isinstance(first, Begun):
        raise _damaged("does not begin with the start of a fleet's run")
    state = State(first)
    for event in stream:
        if isinstance(event, Lost):
            raise _damaged(f"is damaged in line {event.line}")
        state = after(state, event)
    return state


def after(state: State, event: Event) -> State:
    """Return the state after an event. Raises LevelfieldError: its node is unknown, or it begins a second fleet."""
    nodes = dict(state.nodes)
    match event:
        case Begun():
            raise _damaged("holds two fleets")
        case Resumed():
            nodes = {name: _replaced(node, failures=0, refused=False) for name, node in nodes.items()}
        case NodeSeen(node=name):
            known = nodes.get(name)
            nodes[name] = (
                NodeState(name, event.ray_id, event.machine, len(nodes))
                if known is None
                else _replaced(known, ray_id=event.ray_id, machine=event.machine)
            )
        case AttemptBegun() | AttemptFailed() | NodeDone():
            if event.node not in nodes:
                raise _damaged(f"has an event of {event.node}, which it did not see")
            nodes[event.node] = _after(nodes[event.node], event)
    return msgspec.structs.replace(state, nodes=nodes)


def _after(node: NodeState, event: AttemptBegun | AttemptFailed | NodeDone) -> NodeState:
    match event:
        case AttemptBegun():
            return _replaced(node, attempts=node.attempts + 1)
        case AttemptFailed():
            return _replaced(node, failures=node.failures + 1, refused=event.final, reason=event.reason)
        case NodeDone():
            return _replaced(node, runs=(*node.runs, event), failures=0)


def _replaced(node: NodeState, **changes: object) -> NodeState:
    return msgspec.structs.replace(node, **changes)


def _damaged(what: str) -> LevelfieldError:
    return LevelfieldError(
        f"The journal of the fleet {what}.",
        fix="Bring the file back from a copy, or begin another fleet: the runs that came back are not touched.",
    )


class Seen(msgspec.Struct, frozen=True):
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
