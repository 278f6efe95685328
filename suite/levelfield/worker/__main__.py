"""`python -m levelfield.worker`: take over stdin and stdout, then serve until the supervisor closes them."""

import ctypes
import os
import select
import signal
import sys
import threading

from levelfield.worker import pinning
from levelfield.worker.server import serve

PR_SET_PDEATHSIG = 1
"""`prctl(2)`: the signal this process gets when its parent dies."""


def main() -> None:
    pinning.pin()
    _die_with_supervisor()
    # Frameworks print to stdout, in C and in Python. The protocol gets a private copy of it; all other
    # output goes to stderr, of which the supervisor keeps the end.
    private = os.dup(1)
    os.dup2(2, 1)
    sys.stdout = sys.stderr
    with os.fdopen(0, "rb", closefd=False) as requests, os.fdopen(private, "wb") as replies:
        serve(requests, replies)
    sys.stderr.flush()
    os._exit(0)  # frameworks may hang in their exit handlers; all replies are written


def _die_with_supervisor() -> None:
    """End with the supervisor, or when it closes stdin: do not go on to compile for minutes.

    Its end closes stdin, in a container too (the engine sees to it). A thread cannot run while a framework holds the
    interpreter's lock, so outside of containers, where the worker is no process 1, the kernel is asked as well.
    """
    threading.Thread(target=_end_with_stdin, daemon=True).start()
    if sys.platform.startswith("linux") and os.getpid() != 1:
        ctypes.CDLL(None, use_errno=True).prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)


def _end_with_stdin() -> None:
    """Sleep in the kernel until stdin is closed at the other end; that costs what is measured nothing."""
    poller = select.poll()
    poller.register(0, 0)  # a hang-up is always reported
    poller.poll()
    os._exit(0)


if __name__ == "__main__":
    main()
