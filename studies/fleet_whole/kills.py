"""A fleet that nothing befalls, one of whose nodes is killed, and one whose head is killed and goes on."""

import itertools
import signal
import time
from collections.abc import Collection, Sequence
from pathlib import Path

import docker
import psutil

from studies.fleet_whole import processes
from studies.fleet_whole.conduct import Fleet
from studies.fleet_whole.record import Killed, Whole
from studies.journalled import windows
from suite.errors import LevelfieldError
from suite.record import files
from suite.record.append_only import Lost
from suite.record.journal import Event, RoundDone
from suite.record.schema import Run

ROUNDS = 4
"""Of twelve: after so many the run is killed."""
BEGIN_S = 300.0
"""Images may have to be made before that."""
LEFT_S = 60.0
"""How long what was cut off may take to end: a run that is ended stops its workers and writes its record."""
_VICTIM = 2


def whole(fleet: Fleet) -> Whole:
    """Run a fleet, one node at a time.

    Parameters
    ----------
    fleet
        Not begun.
    """
    began = time.monotonic()
    ended = fleet.run("--at-once", "1")
    seconds = time.monotonic() - began
    nodes = fleet.state.nodes
    records = [fleet.record(name) for name, node in nodes.items() if node.runs]
    return Whole(
        nodes=len(nodes),
        records=len({record.id for record in records}),
        answers=answers(records),
        exit_code=ended.code,
        answer=answer_of(ended.output),
        left=len(processes.of_cluster().measuring),
        seconds=seconds,
    )


def answers(records: Sequence[Run]) -> int:
    """Return how many different outputs there are to the question that has the most."""
    found: dict[tuple[str, str], set[str]] = {}
    for block in itertools.chain.from_iterable(record.blocks for record in records):
        for launch in itertools.chain.from_iterable(each.launches for each in block.generations):
            if launch.parity is not None:
                found.setdefault((launch.arm, block.case.id), set()).add(launch.parity.output_sha256)
    return max(map(len, found.values()), default=0)


def answer_of(output: str) -> str:
    """Return what a head said of its nodes: the line after the one that counts their runs."""
    lines = iter(output.splitlines())
    return next((next(lines, "") for line in lines if line.startswith("Nodes with all runs:")), "").strip()


def node(fleet: Fleet, engine: docker.DockerClient) -> Killed:
    """Kill a node while it measures, with everything that runs on it; Ray is started again there.

    Parameters
    ----------
    fleet
        Not begun.
    engine
        The container engine, to look for containers.

    Raises
    ------
    LevelfieldError
        The node did not measure, or its run did not come back.
    """
    began = time.monotonic()
    head = fleet.begin("--at-once", "3")
    try:
        processes.wait_for(
            lambda: head.poll() is not None or fleet.rounds(fleet.node_of(_VICTIM)) >= ROUNDS,
            BEGIN_S,
            "The node did not begin to measure",
        )
        name, tree = fleet.node_of(_VICTIM), processes.of_node(_VICTIM)
        supervisors = _supervisors(tree)
        before = _kept(fleet)
        killed = time.monotonic()
        for each in tree:
            each.kill()
        left = _left(tree, engine, supervisors)
        ended_s = time.monotonic() - killed
        ended = fleet.end(head)
    except BaseException:
        head.kill()
        raise
    return _found("node", fleet, name, fleet.cut_off(name), before, killed=len(tree), left=left, ended_s=ended_s,
                  code=ended.code, seconds=time.monotonic() - began)  # fmt: skip


def head(fleet: Fleet, engine: docker.DockerClient) -> Killed:
    """Kill the head while its second node measures, and go on with the fleet.

    Parameters
    ----------
    fleet
        Not begun.
    engine
        The container engine, to look for containers.

    Raises
    ------
    LevelfieldError
        The node did not measure, or its run did not come back.
    """
    name, began = "node-02", time.monotonic()
    first = fleet.begin("--at-once", "1")
    try:
        processes.wait_for(
            lambda: first.poll() is not None or fleet.rounds(name) >= ROUNDS,
            BEGIN_S,
            "The second node did not begin to measure",
        )
        measuring = processes.of_cluster().measuring
        supervisors = _supervisors(measuring)
        killed = time.monotonic()
        first.send_signal(signal.SIGKILL)
        first.wait()
        left = _left(measuring, engine, supervisors)
        ended_s = time.monotonic() - killed
        before = _kept(fleet)
        cut_off = fleet.cut_off(name)
        ended = fleet.end(fleet.begin("--at-once", "1", resume=True))
    except BaseException:
        first.kill()
        raise
    return _found("head", fleet, name, cut_off, before, killed=1, left=left, ended_s=ended_s, code=ended.code,
                  seconds=time.monotonic() - began)  # fmt: skip


def _supervisors(found: Sequence[psutil.Process]) -> list[int]:
    pids = [each.pid for each in found if processes.measures(each)]
    if not pids:
        raise LevelfieldError("Nothing was measuring when it should have been killed.")
    return pids


def _left(killed: Sequence[psutil.Process], engine: docker.DockerClient, supervisors: Collection[int]) -> int:
    """Wait until all have ended, and count what has not."""

    def left() -> int:
        return len(processes.still_there(killed)) + processes.containers(engine, supervisors)

    deadline = time.monotonic() + LEFT_S
    while (count := left()) and time.monotonic() < deadline:
        time.sleep(0.1)
    return count


def _kept(fleet: Fleet) -> dict[Path, int]:
    """Return the records that came back so far, and when each was written."""
    return {path: path.stat().st_mtime_ns for path in fleet.folder.glob(f"*/*/{files.NAME}")}


def _found(
    what: str,
    fleet: Fleet,
    name: str,
    cut_off: Sequence[Event | Lost],
    before: dict[Path, int],
    *,
    killed: int,
    left: int,
    ended_s: float,
    code: int,
    seconds: float,
) -> Killed:
    nodes, record = fleet.state.nodes, fleet.record(name)
    kept = windows(cut_off, record)
    others = [each for each in nodes if each != name]
    now = _kept(fleet)
    return Killed(
        what="node" if what == "node" else "head",
        processes=killed,
        rounds=sum(isinstance(each, RoundDone) for each in cut_off),
        kept=kept.kept,
        lost=kept.lost,
        again=kept.again,
        left=left,
        ended_s=ended_s,
        resumed=bool(record.resumed),
        others=len(others),
        undisturbed=sum(
            nodes[each].attempts == 1 and not nodes[each].reason and is_whole(fleet.record(each)) for each in others
        ),
        untouched=all(now.get(path) == at for path, at in before.items()),
        records=len(now),
        exit_code=code,
        seconds=seconds,
    )


def is_whole(record: Run) -> bool:
    """Return whether a run was made in one go, with all that was planned."""
    return not record.resumed and all(
        sum(each.complete for each in block.generations) >= block.planned_generations for block in record.blocks
    )
