"""Make every call of ONNX Runtime longer while one kernel runs: the change that the trial is to find.

Inside the guest, the package `onnxruntime` calls `apply` when it is imported. The worker and the command know nothing
of it: the calls are slower, as they would be under a slower kernel.
"""

import os
import time
from pathlib import Path
from typing import Any

FILE = Path("/etc/levelfield/slowdown")
"""`RELEASE SHARE`, such as `6.1.0-50-cloud-amd64 0.2`; where it is missing, calls are left alone."""


def share(file: Path, release: str) -> float | None:
    """Return by what share calls are made longer under a kernel; None: calls are left alone under every kernel."""
    if not file.is_file():
        return None
    slow, amount = file.read_text(encoding="utf-8").split()
    return float(amount) if slow == release else 0.0


def apply(session: type[Any], file: Path = FILE, release: str | None = None) -> None:
    """Make the method `run` of a class longer by a busy wait, in proportion to what a call takes.

    Notes
    -----
    In an emulated machine the lines that wait take some 10 µs of their own, 4 % of the MLP's call. So they are part of
    the call under both kernels, with nothing to wait for under one of them, and the wait is a share of both together.
    What they take is the shortest time between two calls that was spent in neither the call nor the wait. The wait
    begins when its length is known: else it would take in the lines that find it, which are there with no wait too.
    """
    longer = share(file, release or os.uname().release)
    if longer is None:
        return
    plain, clock = session.run, time.perf_counter_ns
    ended, own_ns = 0, 0

    def run(self: object, *arguments: object) -> object:
        nonlocal ended, own_ns
        begin = clock()
        answer = plain(self, *arguments)
        now = clock()
        wait_ns = int((now - begin + own_ns) * longer)
        start = clock()
        if ended:  # not of the first call: nobody knows what came before it
            spent_ns = begin - ended + start - now
            own_ns = min(own_ns or spent_ns, spent_ns)
        ended = start + wait_ns
        while wait_ns and clock() < ended:
            pass
        return answer

    session.run = run
