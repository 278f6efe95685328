"""`python -m suite.worker`: take over stdin and stdout, then serve until the supervisor closes them."""

import ctypes
import os
import select
import signal
import sys
import threading

import msgspec

from suite.worker import pinning
from suite.worker.messages import JOIN, Rendezvous
from suite.worker.server import serve

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
    if JOIN in os.environ:
        _serve_another_host(os.environ.pop(JOIN))
    else:
        with os.fdopen(0, "rb", closefd=False) as requests, os.fdopen(private, "wb") as replies:
            serve(requests, replies)
    sys.stderr.flush()
    os._exit(0)  # frameworks may hang in their exit handlers; all replies are written


def _serve_another_host(variable: str) -> None:
    """Serve the worker that leads this one from another host, until it is gone; this host's supervisor only waits."""
    from suite.worker.rendezvous import join

    rendezvous = msgspec.json.decode(variable, type=Rendezvous)
    connected = join(rendezvous)
    threading.Thread(target=_end_with, args=(connected.fileno(), select.POLLRDHUP), daemon=True).start()
    with connected.makefile("rb") as requests, connected.makefile("wb") as replies:
        serve(requests, replies, (rendezvous, connected.getsockname()[0]))


def _die_with_supervisor() -> None:
    """End with the supervisor, or when it closes stdin: do not go on to compile for minutes.

    Its end closes stdin, in a container too (the engine sees to it). A thread cannot run while a framework holds the
    interpreter's lock, so outside of containers, where the worker is no process 1, the kernel is asked as well.
    """
    threading.Thread(target=_end_with, args=(0, 0), daemon=True).start()
    if sys.platform.startswith("linux") and os.getpid() != 1:
        ctypes.CDLL(None, use_errno=True).prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)


def _end_with(descriptor: int, events: int) -> None:
    """Sleep in the kernel until a stream is closed at the other end; that costs what is measured nothing.

    A hang-up is always reported; of a connection, whose two directions are closed singly, `events` names it.
    """
    poller = select.poll()
    poller.register(descriptor, events)
    poller.poll()
    os._exit(0)


if __name__ == "__main__":
    main()
