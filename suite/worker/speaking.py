"""What a worker says: one line for each request, whoever of its threads says it."""

import os
import threading
from typing import IO

import msgspec

from suite.worker.messages import Failed, Reply

_encoder = msgspec.json.Encoder()


class Speaker:
    """The one mouth of a worker."""

    def __init__(self, replies: IO[bytes]) -> None:
        self._replies = replies
        self._lock = threading.Lock()
        self._owed = False

    def asked(self) -> None:
        """Note that a reply is owed from now on."""
        self._owed = True

    def say(self, reply: Reply) -> None:
        with self._lock:
            self._write(reply)

    def last_words(self, failed: Failed) -> None:
        """Answer in place of the thread that ought to, which waits for what cannot come any more; end the process.

        Does nothing where no reply is owed: nobody asks for one.
        """
        with self._lock:
            if self._owed:
                self._write(failed)
                os._exit(1)

    def _write(self, reply: Reply) -> None:
        self._owed = False
        self._replies.write(_encoder.encode(reply) + b"\n")
        self._replies.flush()
