"""The other processes of a training as the leading worker sees them."""

import os
import queue
import subprocess
import sys
import threading
from collections.abc import Callable
from typing import IO

import msgspec

from levelfield.worker import pinning
from levelfield.worker.messages import Failed, Ready, Reply

COMMAND = ("-P", "-m", "levelfield.worker")
SIGKILLED = -9
_decoder: msgspec.json.Decoder[Reply] = msgspec.json.Decoder(Reply)


class Peer:
    """A process that this one starts, and the thread that listens to it.

    Parameters
    ----------
    rank
        Which of the processes it is.
    cpus
        That it is pinned to.
    lose : callable
        Called with the rank and the failure when it fails or ends, by the thread that listens.
    """

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
