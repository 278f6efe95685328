"""The other processes of a training as the leading worker sees them: its children, or workers on other hosts."""

import os
import queue
import socket
import subprocess
import sys
import threading
from collections.abc import Callable
from typing import IO, TypeAlias

import msgspec

from suite.worker import pinning
from suite.worker.messages import Failed, Ready, Reply

COMMAND = ("-P", "-m", "suite.worker")
SIGKILLED = -9
_decoder: msgspec.json.Decoder[Reply] = msgspec.json.Decoder(Reply)
_Send: TypeAlias = Callable[[bytes], object]
_Lose: TypeAlias = Callable[[int, Failed], None]


class Peer:
    """Another process, and the thread that listens to it.

    Parameters
    ----------
    rank
        Which of the processes it is.
    send : callable
        Writes a line to it; raises `OSError` if it has ended.
    lines
        What it writes.
    ended : callable
        Returns how it ended, once `lines` has.
    lose : callable
        Called with the rank and the failure when it fails or ends, by the thread that listens.
    """

    def __init__(self, rank: int, send: _Send, lines: IO[bytes], ended: Callable[[], Failed], lose: _Lose) -> None:
        self.rank = rank
        self.send = send
        self.replies: queue.SimpleQueue[Reply] = queue.SimpleQueue()
        self._ended = ended
        self._lose = lose
        threading.Thread(target=self._listen, args=(lines,), daemon=True).start()

    def _listen(self, lines: IO[bytes]) -> None:
        try:
            for line in lines:
                try:
                    reply = _decoder.decode(line)
                except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError):
                    reply = Failed("protocol", "printed something that is not a reply")
                if isinstance(reply, Failed):
                    self._fail(msgspec.structs.replace(reply, message=f"failed: {reply.message}"))
                elif not isinstance(reply, Ready):
                    self.replies.put(reply)
        except OSError:  # the connection is lost
            pass
        self._fail(self._ended())

    def _fail(self, failed: Failed) -> None:
        self.replies.put(failed)
        self._lose(self.rank, failed)


class Child(Peer):
    """A process that this one starts.

    Parameters
    ----------
    rank, lose
        As in `Peer`.
    cpus
        That it is pinned to.
    """

    def __init__(self, rank: int, cpus: list[int], lose: _Lose) -> None:
        # It inherits this process's stderr, of which the supervisor keeps the end.
        self._process = process = subprocess.Popen(
            [sys.executable, *COMMAND],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=os.environ | {pinning.CPUS: ",".join(map(str, cpus))},
            bufsize=0,
        )
        lines = open(process.stdout.fileno(), "rb", closefd=False)  # type: ignore[union-attr]  # noqa: SIM115
        super().__init__(rank, process.stdin.write, lines, lambda: exit_failure(process.wait()), lose)  # type: ignore[union-attr]


def remote(rank: int, connected: socket.socket, lose: _Lose) -> Peer:
    """Return a worker on another host.

    Parameters
    ----------
    rank, lose
        As in `Peer`.
    connected
        The authenticated connection to it.
    """
    gone = Failed("crashed", "on another host ended before its time, or that host is no longer reached.")
    return Peer(rank, connected.sendall, connected.makefile("rb"), lambda: gone, lose)


def exit_failure(code: int) -> Failed:
    """Return the failure of a process that ended early."""
    if code == SIGKILLED:
        return Failed("crashed", "was killed (SIGKILL); the usual reason is memory: the processes share one limit.")
    return Failed("crashed", f"ended before its time, with code {code}.")
