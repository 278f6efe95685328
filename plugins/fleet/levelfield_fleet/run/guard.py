"""Run a command that ends with the process that wanted it, however that one ends.

The other process holds the write end of this one's stdin. The kernel closes it when that process ends, by SIGKILL too;
then the command gets SIGTERM, some time to finish, and SIGKILL. The kernel also ends it with this process (prctl(2)).

`python -m levelfield_fleet.run.guard WORD…` runs a command like that.
"""

import ctypes
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import IO, Literal, NamedTuple, TypeAlias

_PR_SET_PDEATHSIG = 1
"""prctl(2): the signal that a process gets when its parent dies."""
GRACE_S = 30.0
"""Between SIGTERM and SIGKILL: a run that is ended writes its record and stops its workers."""
Why: TypeAlias = Literal["ended", "abandoned", "too long"]


class Ending(NamedTuple):
    code: int
    """As `subprocess` has it: negative for a signal."""
    why: Why
    """By itself; because nobody waits for it any more; or at its time limit."""


def run(
    words: Sequence[str],
    *,
    output: int | IO[bytes] | None = None,
    environment: Mapping[str, str] | None = None,
    limit_s: float | None = None,
    grace_s: float = GRACE_S,
) -> Ending:
    """Run a command until it ends, stdin of this process is closed at the other end, or its time is over.

    `output`: where its stdout and stderr go; None: where those of this process go. `environment`: all of it; None: that
    of this process. `limit_s`: time that it may take; None: any. Raises OSError: the command cannot be started.
    """
    parent = os.getpid()

    def end_with_parent() -> None:
        ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0)
        if os.getppid() != parent:
            os._exit(1)

    process = subprocess.Popen(
        list(words),
        stdin=subprocess.DEVNULL,
        stdout=output,
        stderr=subprocess.STDOUT if output is not None else None,
        env=environment,
        start_new_session=True,
        preexec_fn=end_with_parent,  # noqa: PLW1509  (this process has one thread)
    )
    ended = os.pidfd_open(process.pid)
    try:
        why = _wait(ended, limit_s)
        if why != "ended":
            process.terminate()
            _wait(ended, grace_s, stdin=False)
    finally:
        os.close(ended)
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)  # what it started may outlive it
        process.wait()
    return Ending(process.returncode, why)


def _wait(ended: int, limit_s: float | None, *, stdin: bool = True) -> Why:
    """Sleep until the process of a descriptor ends, stdin is closed, or the time is over."""
    poller = select.poll()
    poller.register(ended, select.POLLIN)
    if stdin:
        poller.register(0, 0)  # a hang-up is always reported
    deadline = None if limit_s is None else time.monotonic() + limit_s
    while True:
        left_ms = None if deadline is None else max(deadline - time.monotonic(), 0.0) * 1000
        ready = [descriptor for descriptor, _ in poller.poll(left_ms)]
        if ended in ready:
            return "ended"
        return "abandoned" if ready else "too long"


def main() -> None:
    """Run the words of the command line, and exit as that command did."""
    ending = run(sys.argv[1:], grace_s=10.0)
    sys.exit(ending.code if ending.code >= 0 else 128 - ending.code)


if __name__ == "__main__":
    main()
