"""Several processes that train one model together: one worker leads the others (its peers).

The supervisor communicates with the leading worker alone. It starts its peers, which are workers too, with pipes to it
in place of streams to the supervisor: they load what it loads, and take a step whenever it takes one. All connect over
the loopback interface, which a container without a network has too. They end with it: the pipe closes, and the kernel
kills a child that does not notice. A peer that ends early is reported with its reason: an engine that waits for it may
wait for minutes, or for ever.
"""

import os
import queue
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable
from typing import IO, Any, TypeVar

import msgspec

from levelfield.backends.parallel import LOOPBACK, Replica
from levelfield.record.measured import Absent, Memory
from levelfield.worker import pinning
from levelfield.worker.messages import (
    Failed,
    Join,
    Joined,
    Probe,
    Probed,
    Ready,
    Reply,
    Request,
    Step,
    Trained,
    Updated,
    Use,
    Used,
)

COMMAND = ("-P", "-m", "levelfield.worker")
SIGKILLED = -9
_decoder: msgspec.json.Decoder[Reply] = msgspec.json.Decoder(Reply)


class Peer:
    """A process that this one starts, and the thread that listens to it and calls `lose` when it fails or ends."""

    def __init__(self, rank: int, cpus: list[int], lose: Callable[[int, Failed], None]) -> None:
        # It inherits this process's stderr, of which the supervisor keeps the end.
        self._process = process = subprocess.Popen(
            [sys.executable, *COMMAND],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=os.environ | {pinning.CPUS: ",".join(map(str, cpus))},
            bufsize=0,
        )
        lines = open(process.stdout.fileno(), "rb", closefd=False)  # type: ignore[union-attr]  # noqa: SIM115
        self.rank = rank
        self.send: Callable[[bytes], object] = process.stdin.write  # type: ignore[union-attr]
        self.replies: queue.SimpleQueue[Reply] = queue.SimpleQueue()
        self._lose = lose
        threading.Thread(target=self._listen, args=(lines,), daemon=True).start()

    def _listen(self, lines: IO[bytes]) -> None:
        for line in lines:
            try:
                reply = _decoder.decode(line)
            except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError):
                reply = Failed("protocol", "printed something that is not a reply")
            if isinstance(reply, Failed):
                self._fail(msgspec.structs.replace(reply, message=f"failed: {reply.message}"))
            elif not isinstance(reply, Ready):
                self.replies.put(reply)
        self._fail(exit_failure(self._process.wait()))

    def _fail(self, failed: Failed) -> None:
        self.replies.put(failed)
        self._lose(self.rank, failed)


def exit_failure(code: int) -> Failed:
    """Return the failure of a process that ended early."""
    if code == SIGKILLED:
        return Failed("crashed", "was killed (SIGKILL); the usual reason is memory: the processes share one limit.")
    return Failed("crashed", f"ended before its time, with code {code}.")


_R = TypeVar("_R")
_encoder = msgspec.json.Encoder()
_STEP = _encoder.encode(Step()) + b"\n"
GRACE_S = 2.0
"""How long the leading thread may take to notice by itself that a peer has ended, and to reply."""
_APART = "The processes hold different weights after the same steps: they did not train together."


class PeerLostError(RuntimeError):
    """A peer has ended or failed; `Team.lost` says how."""


class Team:
    """The peers of a leading worker; raises ValueError where there are fewer CPUs than processes.

    `fail_and_exit` reports a failure in place of the thread that waits for a lost peer, and ends this process.
    """

    def __init__(self, processes: int, fail_and_exit: Callable[[Failed], None]) -> None:
        self.lost: Failed | None = None
        self._fail_and_exit = fail_and_exit
        self._gone = threading.Event()
        self._processes = processes
        shares = split_cpus(pinning.named_cpus() or sorted(os.sched_getaffinity(0)), processes)
        os.sched_setaffinity(0, shares[0])
        self._peers = [Peer(rank, shares[rank], self._lose) for rank in range(1, processes)]
        self.replica = Replica(0, processes, free_ports(processes))
        for peer in self._peers:
            peer.send(_encoder.encode(Join(msgspec.structs.replace(self.replica, rank=peer.rank))) + b"\n")
        self.collect(Joined)

    def post(self, request: Request) -> None:
        """Send a request to all peers; `collect` waits for their replies."""
        for peer in self._peers:
            peer.send(_encoder.encode(request) + b"\n")

    def collect(self, expect: type[_R]) -> list[_R]:
        """Return the peers' replies, in the order of ranks.

        Raises PeerLostError: a peer failed, or replied with another message.
        """
        found: list[_R] = []
        for peer in self._peers:
            reply = peer.replies.get()
            if not isinstance(reply, expect):
                reason = reply.message if isinstance(reply, Failed) else f"answered with {type(reply).__name__}."
                raise PeerLostError(f"Process {peer.rank + 1} of {self._processes} {reason}")
            found.append(reply)
        return found

    def led(self, step: Callable[[Any], object]) -> Callable[[Any], object]:
        """Return a step that the peers take too: the request to them, a write for each, is part of its time."""
        sends = [peer.send for peer in self._peers]

        def led_step(inputs: object) -> object:
            for send in sends:
                send(_STEP)
            return step(inputs)

        return led_step

    def usage(self) -> Used:
        """Return what all processes have used since their start, in all."""
        from levelfield.worker.probes import usage

        self.post(Use())
        processes = [*self.collect(Used), usage()]
        return Used(*(sum(counts) for counts in zip(*map(msgspec.structs.astuple, processes), strict=True)))

    def combined(self, own: Trained) -> Trained:
        """Return what all processes' steps were; raises as `combine_trained`."""
        return combine_trained([own, *self.collect(Trained)])

    def equal(self, own: Updated) -> Updated:
        """Return what all processes' weights are after the same steps; raises as `require_equal`."""
        return require_equal([own, *self.collect(Updated)])

    def probe_all(self, own: Probed) -> Probed:
        """Return what this process reports, with the memory of all."""
        self.post(Probe(installed=False))
        return sum_memory([own, *self.collect(Probed)])

    def await_loss(self) -> Failed | None:
        """Return how a peer was lost, if that is noticed soon: the reason of an error of this process."""
        self._gone.wait(GRACE_S)
        return self.lost

    def _lose(self, rank: int, failed: Failed) -> None:
        """Record how a peer was lost; called by the thread that listens to it."""
        if self._gone.is_set():
            return
        self.lost = msgspec.structs.replace(failed, message=f"Process {rank + 1} of {self._processes} {failed.message}")
        self._gone.set()
        time.sleep(GRACE_S)
        self._fail_and_exit(self.lost)


def combine_trained(trained: list[Trained]) -> Trained:
    """Return the mean of the losses of equal shares, and what all hold copies of.

    Raises ValueError: gradients or weights are not equal: they were not averaged, or were applied otherwise.
    """
    own, *peers = trained
    if any((each.gradients, each.weights) != (own.gradients, own.weights) for each in peers):
        raise ValueError(_APART)
    losses = tuple(sum(each) / len(trained) for each in zip(*(one.losses for one in trained), strict=True))
    return msgspec.structs.replace(own, losses=losses)


def require_equal(updated: list[Updated]) -> Updated:
    """Return what all processes' weights are; raises ValueError where they are not equal, to the last bit."""
    own, *peers = updated
    if any(each != own for each in peers):
        raise ValueError(_APART)
    return own


def sum_memory(probed: list[Probed]) -> Probed:
    """Add up the memory of processes, each at its own peak; pages that they share count for each of them."""
    own = probed[0]
    parts = [each.memory for each in probed]
    devices = {name for part in parts for name in part.device_bytes}
    memory = Memory(
        peak_rss_bytes=_sum(part.peak_rss_bytes for part in parts),
        rss_bytes=_sum(part.rss_bytes for part in parts),
        source=f"{own.memory.source}, summed over {len(probed)} processes",
        device_bytes={name: sum(part.device_bytes.get(name, 0) for part in parts) for name in sorted(devices)},
    )
    return msgspec.structs.replace(
        own,
        memory=memory,
        threads_alive=sum(each.threads_alive for each in probed),
        affinity=tuple(sorted({cpu for each in probed for cpu in each.affinity})),
    )


def _sum(values: Iterable[int | Absent]) -> int:
    return sum(value for value in values if isinstance(value, int))


def split_cpus(cpus: list[int], processes: int) -> list[list[int]]:
    """Divide CPUs among processes, equally many for each; raises ValueError where there are fewer CPUs."""
    each = len(cpus) // processes
    if not each:
        raise ValueError(f"{processes} processes need a CPU each, and there are {len(cpus)}.")
    return [cpus[rank * each : (rank + 1) * each] for rank in range(processes)]


def free_ports(count: int) -> tuple[int, ...]:
    """Return ports of the loopback interface that are free, as the kernel chooses them."""
    sockets = [socket.create_server((LOOPBACK, 0)) for _ in range(count)]
    try:
        return tuple(each.getsockname()[1] for each in sockets)
    finally:
        for each in sockets:
            each.close()
