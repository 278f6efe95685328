"""Lines to and from a worker, over any transport, and the end of its stderr."""

import abc
import collections
import os
import select
import time
from collections.abc import Iterable, Sequence
from typing import NamedTuple

MAX_LINE_BYTES = 256 * 1024 * 1024
"""Longest line a worker may send; the largest that occurs (BERT's verification outputs) is about 20 MB."""
STDERR_BYTES = 8192
"""How much of a worker's stderr is kept."""
READ_BYTES = 1 << 20
"""Most bytes that one read takes."""
READS_AT_ONCE = 64
"""Most reads in a row before the caller checks its deadline again."""
SEND_TIMEOUT_S = 60.0
"""How long a worker may leave a request unread. Requests are small, so that reading one takes no time."""


class ChannelClosed(Exception):  # noqa: N818  (a state of the channel)
    """The worker closed its stdout: it has exited, or is about to."""


class ChannelTimeout(Exception):  # noqa: N818
    """Nothing complete came within the time limit."""


class LineTooLong(Exception):  # noqa: N818
    """The worker sent a line longer than `MAX_LINE_BYTES`."""


class Ending(NamedTuple):
    code: int | None
    """Exit code; None where it is not known."""
    out_of_memory: bool
    """It passed the memory limit of its container."""
    killed_here: bool
    """It did not exit by itself, and was killed by this process."""


class Lines:
    """Cut a byte stream into lines, and keep the end of another stream. What is dropped is counted."""

    def __init__(self) -> None:
        self._parts: list[bytes] = []
        self._pending_bytes = 0
        self._ready: collections.deque[bytes] = collections.deque()
        self._tail = b""
        self._dropped_bytes = 0
        self._dropping = False

    def feed(self, chunk: bytes) -> None:
        """Take bytes of stdout; raises `LineTooLong`."""
        if self._dropping:
            self._dropped_bytes += len(chunk)
            return
        *complete, rest = chunk.split(b"\n")
        for piece in complete:
            self._ready.append(b"".join([*self._parts, piece]))
            self._parts, self._pending_bytes = [], 0
        if rest:
            self._parts.append(rest)
            self._pending_bytes += len(rest)
            if self._pending_bytes > MAX_LINE_BYTES:
                raise LineTooLong

    def feed_stderr(self, chunk: bytes) -> None:
        """Take bytes of stderr, and keep the last `STDERR_BYTES`."""
        complete = self._tail + chunk
        self._tail = complete[-STDERR_BYTES:]
        self._dropped_bytes += len(complete) - len(self._tail)

    def drop(self) -> None:
        """Forget the lines that wait, and keep none from now on: the worker is being ended."""
        self._dropping = True
        self._dropped_bytes += sum(map(len, self._ready)) + self._pending_bytes
        self._ready.clear()
        self._parts, self._pending_bytes = [], 0

    def waiting(self) -> bool:
        return bool(self._ready)

    def pop(self) -> bytes | None:
        return self._ready.popleft() if self._ready else None

    def tail(self) -> str:
        """Return the end of stderr, after a note of how much output was dropped."""
        note = f"[{self._dropped_bytes:,} bytes of output dropped]\n" if self._dropped_bytes else ""
        return note + self._tail.decode("utf-8", "replace")


class Channel(abc.ABC):
    """One worker's stdin, stdout and stderr. `pid`: as this host sees it; None where the engine runs elsewhere."""

    def __init__(self, pid: int | None) -> None:
        self.pid = pid
        self._lines = Lines()
        self._killed_here = False

    @abc.abstractmethod
    def send(self, line: bytes) -> None:
        """Write one line; raises `ChannelClosed` when the other end is closed."""

    @abc.abstractmethod
    def descriptors(self) -> tuple[int, ...]:
        """Return the file descriptors that become readable when there is output."""

    @abc.abstractmethod
    def _at_end(self) -> bool:
        """Return whether stdout has ended."""

    @abc.abstractmethod
    def _read(self, ready: Sequence[int]) -> None:
        """Read what is available on those descriptors."""

    def receive(self, timeout_s: float) -> bytes:
        """Return the next line of stdout without its newline; the caller sleeps until it is there."""
        deadline = time.monotonic() + timeout_s
        while (line := self._lines.pop()) is None:
            if self._at_end():
                raise ChannelClosed
            self._read(wait_readable(self.descriptors(), deadline))
        return line

    def poll(self) -> bool:
        """Read what has come, without waiting; True where `receive` would now return or raise at once."""
        try:
            for _ in range(READS_AT_ONCE):
                if self._lines.waiting() or self._at_end():
                    return True
                if not (ready := _poll(self.descriptors(), 0.0)):
                    return False
                self._read(ready)
        except LineTooLong:
            return True
        return self._lines.waiting()

    def has_unrequested_line(self) -> bool:
        """Return whether a line waits that answers no request; call it before the next request is sent."""
        return self._lines.waiting()

    def stderr_tail(self) -> str:
        return self._lines.tail()

    @abc.abstractmethod
    def end(self, grace_s: float) -> None:
        """Close stdin, wait for the exit, kill after `grace_s`; then free everything the worker held.

        Never raises, so that the next worker can be ended too.
        """

    @abc.abstractmethod
    def ending(self) -> Ending:
        """Return how the worker ended, once `end` was called; this may take a moment."""


def wait_readable(descriptors: Iterable[int], deadline: float) -> list[int]:
    """Sleep until one of `descriptors` can be read, and return those that can.

    `deadline`: as `time.monotonic` counts, in seconds. Raises ChannelTimeout: at the deadline, even if something can be
    read then: output without end suspends no time limit.
    """
    left_s = deadline - time.monotonic()
    if left_s > 0 and (ready := _poll(descriptors, left_s)):
        return ready
    raise ChannelTimeout


def _poll(descriptors: Iterable[int], timeout_s: float) -> list[int]:
    poller = select.poll()
    for descriptor in descriptors:
        poller.register(descriptor, select.POLLIN)
    return [descriptor for descriptor, _ in poller.poll(timeout_s * 1000)]


def read_some(descriptor: int) -> bytes:
    return os.read(descriptor, READ_BYTES)


def send_all(descriptor: int, content: bytes) -> None:
    """Write all of `content` to a descriptor that does not block.

    Raises ChannelClosed: the other end is closed, or nothing was read for `SEND_TIMEOUT_S`.
    """
    left = memoryview(content)
    deadline = time.monotonic() + SEND_TIMEOUT_S
    poller = select.poll()
    poller.register(descriptor, select.POLLOUT)
    try:
        while left:
            if not poller.poll(max(deadline - time.monotonic(), 0.0) * 1000):
                raise ChannelClosed
            left = left[os.write(descriptor, left) :]
    except OSError as error:
        raise ChannelClosed from error
