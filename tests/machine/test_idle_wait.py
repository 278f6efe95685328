"""The wait for workers that go on computing, with real processes."""

import os
import signal
import subprocess
import sys
import threading
import time

from levelfield.machine.idle_wait import LIMIT_NS, STILL_NS, wait_until_idle
from tests.machine.processes import ASLEEP, BUSY, process

MS = 1_000_000
SPINS = (
    "import sys, time\n"
    "print('up', flush=True)\n"
    "sys.stdin.readline()\n"
    "end = time.monotonic() + 0.15\n"
    "while time.monotonic() < end: pass\n"
    "time.sleep(60)"
)


def test_sleeping_workers_are_waited_for_no_longer_than_it_takes_to_see_it() -> None:
    with process(ASLEEP) as one, process(ASLEEP) as other:
        waited = wait_until_idle({"one": one.pid, "other": other.pid})
    assert (waited.busy, waited.unseen) == ((), ())
    assert STILL_NS <= waited.waited_ns < 100 * MS


def test_a_worker_that_spins_for_a_while_is_waited_for() -> None:
    with subprocess.Popen([sys.executable, "-c", SPINS], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:
        assert child.stdout is not None
        assert child.stdin is not None
        assert child.stdout.readline() == b"up\n"
        child.stdin.write(b"\n")
        child.stdin.flush()
        time.sleep(0.02)
        began = time.monotonic()
        waited = wait_until_idle({"spins": child.pid}, limit_ns=5_000 * MS)
        child.kill()
    assert waited.busy == ()
    assert 100 * MS < waited.waited_ns <= (time.monotonic() - began) * 1e9


def test_a_worker_that_never_stops_is_named_at_the_limit() -> None:
    with process(BUSY) as endless, process(ASLEEP) as idle:
        waited = wait_until_idle({"endless": endless.pid, "idle": idle.pid})
    assert waited.busy == ("endless",)
    assert LIMIT_NS <= waited.waited_ns < 2 * LIMIT_NS


def test_a_clock_that_cannot_be_read_is_no_reason_to_wait() -> None:
    with process(ASLEEP) as idle:
        waited = wait_until_idle({"seen": idle.pid, "unseen": None, "nowhere": 0})
    assert waited.unseen == ("nowhere", "unseen")
    assert waited.busy == ()
    assert wait_until_idle({}).waited_ns < STILL_NS


def test_a_worker_that_ends_meanwhile_is_not_waited_for() -> None:
    with process(BUSY) as ends:
        killer = threading.Timer(0.05, os.kill, (ends.pid, signal.SIGKILL))
        killer.start()
        waiter = threading.Thread(target=ends.wait)
        waiter.start()
        waited = wait_until_idle({"ends": ends.pid}, limit_ns=5_000 * MS)
        waiter.join()
    assert waited.busy == ()
    assert waited.waited_ns < 2_000 * MS
