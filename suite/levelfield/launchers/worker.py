"""A worker as the supervisor sees it: typed requests and replies, time limits, and kinds of failure."""

import contextlib
import time
from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

import msgspec

from levelfield.errors import one_line
from levelfield.launchers import credible
from levelfield.launchers.channel import Channel, ChannelClosed, ChannelTimeout, LineTooLong, wait_readable
from levelfield.launchers.disk_limit import CHECK_INTERVAL_S, DiskLimit
from levelfield.record import bounds
from levelfield.worker.failures import DETAIL_CHARS
from levelfield.worker.messages import PROTOCOL, Failed, Ready, Reply, Request, Stop

_R = TypeVar("_R")

_encoder = msgspec.json.Encoder()
_decoder: msgspec.json.Decoder[Reply] = msgspec.json.Decoder(Reply)
MOST_VALUES = 8 * bounds.MAX_WINDOW_CALLS
"""Of one reply: some thirty bytes of memory each, whatever the line took. A window has two for each call."""
MESSAGE_CHARS = 1_000
"""What is kept of a worker's sentence on a failure."""
GRACE_S = 5.0
"""How long a worker may take to stop."""
SIGKILL_CODES = (-9, 137)


class WorkerError(Exception):
    """A worker gives no usable reply. `kind` is one of `record.schema.FailureKind`."""

    def __init__(
        self, kind: str, message: str, detail: str = "", *, gone: bool = True, settings: Mapping[str, str] = {}
    ) -> None:
        super().__init__(message)
        self.kind = kind
        self.message = message
        self.detail = detail
        self.gone = gone
        """The worker is no longer there (it exited, or was killed because it could not be trusted any more)."""
        self.settings = settings
        """With which it says that it would load; not trusted."""


class Worker:
    """One live worker. After a `WorkerError` with `gone`, it has been ended already."""

    def __init__(self, name: str, channel: Channel, *, started_ns: int, disk: DiskLimit | None = None) -> None:
        self.name = name
        self._channel = channel
        self._disk = disk or DiskLimit(())
        self._started_ns = started_ns
        self._request = "start"
        self._posted_ns = started_ns
        self._dismissed = False
        self._excess: Callable[[Reply], str] = lambda _: ""
        self.start_ns = 0
        self.alive = True

    @property
    def pid(self) -> int | None:
        return self._channel.pid

    def await_ready(self, timeout_s: float) -> Ready:
        """Wait for the worker's first line; `start_ns` is then the time since its launch was requested."""
        reply = self._receive(timeout_s)
        self.start_ns = time.perf_counter_ns() - self._started_ns
        if not isinstance(reply, Ready):
            raise self._lost("protocol", "began with something else than its ready line.")
        if reply.protocol != PROTOCOL:
            raise self._lost("protocol", f"speaks protocol {reply.protocol}, this Levelfield speaks {PROTOCOL}.")
        self._check_plausible(reply)
        return reply

    def ask(self, request: Request, expect: type[_R], timeout_s: float) -> _R:
        """Send a request and return its reply.

        Raises WorkerError: crash, time limit, memory, invalid data on the protocol channel, or the worker's own
        `Failed`.
        """
        self.post(request)
        return self.collect(expect, timeout_s)

    def post(self, request: Request) -> None:
        """Send a request without waiting, so that several workers can load at the same time."""
        self._request = type(request).__name__.lower()
        self._posted_ns = time.perf_counter_ns()
        if self._channel.has_unrequested_line():
            raise self._lost("protocol", f"sent a line before {self._request} that no request had asked for.")
        try:
            self._channel.send(_encoder.encode(request))
        except ChannelClosed:
            raise self._exited() from None

    def collect(self, expect: type[_R], timeout_s: float) -> _R:
        """Wait for the reply to the request that was posted last.

        Raises WorkerError: as in `ask`.
        """
        reply = self._receive(timeout_s)
        if isinstance(reply, Failed):
            reply = Failed(
                reply.kind, one_line(reply.message, MESSAGE_CHARS), reply.detail[-DETAIL_CHARS:], reply.settings
            )
            self._check_plausible(reply)
            raise WorkerError(reply.kind, reply.message, reply.detail, gone=False, settings=reply.settings)
        if not isinstance(reply, expect):
            raise self._lost("protocol", f"answered {self._request} with {type(reply).__name__}.")
        self._check_plausible(reply)
        return reply

    def ask_asleep(self, request: Request, expect: type[_R], timeout_s: float) -> tuple[_R, int]:
        """Send a request; return its reply and this process's CPU time when it last fell asleep to wait.

        CPU time used after that is spent on the reply: to read and decode it, when the worker has finished its work.

        Returns this process's CPU time (`time.process_time_ns`), nanoseconds. Raises WorkerError: as in `ask`.
        """
        deadline = time.monotonic() + timeout_s
        self.post(request)
        asleep_ns = time.process_time_ns()
        while not self._channel.poll():  # the disk is checked when a wait ends, not within a window's first moments
            asleep_ns = time.process_time_ns()
            try:
                wait_readable(list(self.descriptors()), _next_check(deadline))
            except ChannelTimeout:
                self._check(deadline, timeout_s)
        return self.collect(expect, timeout_s), asleep_ns

    def answered(self) -> bool:
        """Whether `collect` would return (or raise) at once."""
        return self._channel.poll() or self.has_filled_the_disk()

    def has_filled_the_disk(self) -> bool:
        """Whether the worker has written more to this machine's disk than it may; `collect` ends it then."""
        return self._disk.is_exceeded()

    def descriptors(self) -> tuple[int, ...]:
        """Return the file descriptors to sleep on until `answered` may have changed."""
        return self._channel.descriptors()

    def overdue(self, timeout_s: float) -> WorkerError:
        """End a worker whose reply did not come within `timeout_s`, and return its error."""
        return self._lost(
            "timeout", f"did not finish {self._request} within {timeout_s:.0f} s; --backends leaves it out."
        )

    def _receive(self, timeout_s: float) -> Reply:
        try:
            line = self._next_line(timeout_s)
        except ChannelClosed:
            raise self._exited() from None
        except LineTooLong:
            raise self._lost("protocol", f"sent an endless line during {self._request}.") from None
        if line.count(b",") > MOST_VALUES:
            raise self._lost("protocol", f"answered {self._request} with more values than a reply has.")
        try:
            return _decoder.decode(line)
        except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError):
            message = f"printed something that is not a reply during {self._request}: "
            raise self._lost("protocol", f"{message}{line[:120].decode('utf-8', 'replace')!r}.") from None

    def _next_line(self, timeout_s: float) -> bytes:
        deadline = time.monotonic() + timeout_s
        self._check_disk()
        while True:
            try:
                return self._channel.receive(_next_check(deadline) - time.monotonic())
            except ChannelTimeout:
                self._check(deadline, timeout_s)

    def _check(self, deadline: float, timeout_s: float) -> None:
        """After a wait without a reply: raise where the time is over or the disk is filled."""
        self._check_disk()
        if time.monotonic() >= deadline:
            raise self.overdue(timeout_s)

    def _check_disk(self) -> None:
        if self.has_filled_the_disk():
            allowed_gib = self._disk.allowed_bytes / (1 << 30)
            most = f"{allowed_gib:.1f} GiB, or {self._disk.allowed_files:,} files,"
            message = f"wrote more than {most} to its compile cache during {self._request}; "
            error = self._lost("error", message + "it was ended and the cache emptied.")
            self._disk.clear()
            raise error

    def _check_plausible(self, reply: Reply) -> None:
        """End a worker whose reply cannot be true."""
        reason = credible.implausibility(reply, time.perf_counter_ns() - self._posted_ns) or self._excess(reply)
        if reason:
            raise self._lost("protocol", f"answered {self._request} with {reason}.")

    def _lost(self, kind: str, message: str) -> WorkerError:
        """End a worker that can no longer be trusted, and return its error; `message` follows the worker's name."""
        self._channel.end(0.0)
        self.alive = False
        return WorkerError(kind, f"{self.name} {message}", self.stderr_tail())

    def _exited(self) -> WorkerError:
        self._channel.end(GRACE_S)
        self.alive = False
        if self.has_filled_the_disk():
            self._disk.clear()
        ending, during = self._channel.ending(), f"during {self._request}"
        if ending.out_of_memory:
            message = f"ran out of its memory limit {during}."
        elif ending.killed_here:
            message = f"closed its output {during}, did not exit, and was killed."
        elif ending.code in SIGKILL_CODES:
            message = f"was killed (SIGKILL) {during}; the usual reason is a machine out of memory."
        else:
            message = f"exited with code {ending.code} {during}."
        kind = "out-of-memory" if ending.out_of_memory else "crashed"
        return WorkerError(kind, f"{self.name} {message}", self.stderr_tail())

    def stderr_tail(self) -> str:
        """Return the end of what it wrote to stderr, also once it has ended."""
        return self._channel.stderr_tail()

    def count_reports(self, excess: Callable[[Reply], str]) -> None:
        """Let `excess` see every reply; where it returns what there is too much of, the worker is ended."""
        self._excess = excess

    def dismiss(self) -> None:
        """Ask the worker to end, without waiting, so that several can end at the same time; `stop` comes after."""
        if self.alive and not self._dismissed:
            self._dismissed = True
            with contextlib.suppress(ChannelClosed):
                self._channel.send(_encoder.encode(Stop()))

    def stop(self) -> None:
        """End the worker; a stop request is sent first. Never raises for a worker that is gone already."""
        if not self.alive:
            return
        self.dismiss()
        self.alive = False
        self._channel.end(GRACE_S)


def wait_for_answers(workers: Sequence[Worker], deadline: float) -> list[Worker]:
    """Sleep until a worker has answered.

    `deadline`: as `time.monotonic` counts, in seconds. Returns those that have answered; empty at the deadline.
    """
    while True:
        answered = [worker for worker in workers if worker.answered()]
        if answered:
            return answered
        with contextlib.suppress(ChannelTimeout):
            wait_readable([each for worker in workers for each in worker.descriptors()], _next_check(deadline))
            continue
        if time.monotonic() >= deadline:
            return []


def _next_check(deadline: float) -> float:
    """Return when to check the disk again, or the deadline if that comes first (`time.monotonic`)."""
    return min(deadline, time.monotonic() + CHECK_INTERVAL_S)
