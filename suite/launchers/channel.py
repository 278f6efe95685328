"""Lines to and from a worker, whatever carries them, and the end of what it says on stderr."""

import os
import select
import time
from collections.abc import Iterable
from typing import Protocol

MAX_LINE_BYTES = 256 * 1024 * 1024
"""Longest line a worker may send; the largest honest one (BERT's verification outputs) is about 20 MB."""
STDERR_BYTES = 8192
"""How much of a worker's stderr is kept."""


class ChannelClosed(Exception):  # noqa: N818  (a state of the channel)
    """The worker closed its stdout: it has exited, or is about to."""


class ChannelTimeout(Exception):  # noqa: N818
    """Nothing complete came within the time limit."""


class LineTooLong(Exception):  # noqa: N818
    """The worker sent more than any honest line holds."""


class Ending:
    """How a worker process ended.

    Parameters
    ----------
    code
        Exit code; None where nobody can say.
    out_of_memory
        It passed the memory limit of its container.
    killed_here
        It did not exit by itself, and was killed by this process.
    """

    def __init__(self, *, code: int | None, out_of_memory: bool = False, killed_here: bool = False) -> None:
        self.code = code
        self.out_of_memory = out_of_memory
        self.killed_here = killed_here


class Channel(Protocol):
    """One worker's stdin, stdout and stderr."""

    pid: int | None
    """Process id as this host sees it; None where the engine runs elsewhere."""

    def send(self, line: bytes) -> None:
        """Write one line; raises `ChannelClosed` when nobody reads it."""
        ...

    def receive(self, timeout_s: float) -> bytes:
        """Return the next line of stdout without its newline; the caller sleeps until it is there."""
        ...

    def poll(self) -> bool:
        """Take in what has come, without waiting; True where `receive` would now return or raise at once."""
        ...

    def descriptors(self) -> tuple[int, ...]:
        """Return the file descriptors that become readable when something comes."""
        ...

    def stderr_tail(self) -> str: ...

    def end(self, grace_s: float) -> None:
        """Close stdin, wait for the exit, kill after `grace_s`; then free everything the worker held.

        Never raises, so that the next worker can be ended too.
        """
        ...

    def ending(self) -> Ending:
        """Return how the worker ended, once `end` was called; to ask may take a moment."""
        ...


class Lines:
    """Cut a byte stream into lines, and keep the end of another stream."""

    def __init__(self) -> None:
        self._parts: list[bytes] = []
        self._pending_bytes = 0
        self._ready: list[bytes] = []
        self._tail = b""

    def feed(self, chunk: bytes) -> None:
        """Take bytes of stdout; raises `LineTooLong`."""
        *whole, rest = chunk.split(b"\n")
        for piece in whole:
            self._ready.append(b"".join([*self._parts, piece]))
            self._parts, self._pending_bytes = [], 0
        if rest:
            self._parts.append(rest)
            self._pending_bytes += len(rest)
            if self._pending_bytes > MAX_LINE_BYTES:
                raise LineTooLong

    def feed_stderr(self, chunk: bytes) -> None:
        self._tail = (self._tail + chunk)[-STDERR_BYTES:]

    def waiting(self) -> bool:
        return bool(self._ready)

    def pop(self) -> bytes | None:
        return self._ready.pop(0) if self._ready else None

    def tail(self) -> str:
        return self._tail.decode("utf-8", "replace")


def wait_readable(descriptors: Iterable[int], deadline: float) -> list[int]:
    """Sleep until one of `descriptors` can be read; raises `ChannelTimeout` at the deadline (`time.monotonic`).

    A deadline that is past asks what can be read now.
    """
    poller = select.poll()
    for descriptor in descriptors:
        poller.register(descriptor, select.POLLIN)
    ready = poller.poll(max(deadline - time.monotonic(), 0.0) * 1000)
    if not ready:
        raise ChannelTimeout
    return [descriptor for descriptor, _ in ready]


def read_some(descriptor: int) -> bytes:
    return os.read(descriptor, 1 << 20)
