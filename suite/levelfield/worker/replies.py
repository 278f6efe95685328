"""Replies to the supervisor: one line for each request, whichever thread writes it."""

import os
import threading
from typing import IO

import msgspec

from levelfield.worker.messages import Failed, Reply

_encoder = msgspec.json.Encoder()


class ReplyWriter:
    """Writes all lines of a worker, from any thread.

    Parameters
    ----------
    replies
        Binary stream that the supervisor reads.
    """

    def __init__(self, replies: IO[bytes]) -> None:
        self._replies = replies
        self._lock = threading.Lock()
        self._owed = False

    def expect_one(self) -> None:
        """Note that a reply is owed from now on."""
        self._owed = True

    def write(self, reply: Reply) -> None:
        """Write a reply; none is owed any more."""
        with self._lock:
            self._write(reply)

    def fail_and_exit(self, failed: Failed) -> None:
        """Reply in place of the serving thread, which waits for a lost peer, and end the process.

        Does nothing where no reply is owed.
        """
        with self._lock:
            if self._owed:
                self._write(failed)
                os._exit(1)

    def _write(self, reply: Reply) -> None:
        self._owed = False
        self._replies.write(_encoder.encode(reply) + b"\n")
        self._replies.flush()
