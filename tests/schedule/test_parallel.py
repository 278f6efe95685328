"""Jobs side by side: all done, in order, and the first trouble told at once."""

import threading
import time

import pytest

from levelfield.errors import LevelfieldError
from levelfield.schedule import parallel


def test_every_job_is_done_once() -> None:
    done: list[int] = []
    parallel.run([], at_once=2)
    parallel.run([lambda number=number: done.append(number) for number in range(50)], at_once=3)  # type: ignore[misc]
    assert sorted(done) == list(range(50))


def test_so_many_run_at_once() -> None:
    barrier = threading.Barrier(2, timeout=30)

    def meet() -> None:
        barrier.wait()

    parallel.run([meet] * 4, at_once=2)


def test_an_error_is_reported_while_others_still_work() -> None:
    going = threading.Event()
    began: list[str] = []

    def fail() -> None:
        raise LevelfieldError("The disk is full.", fix="Free some space.")

    def wait() -> None:
        began.append("wait")
        going.wait(30)

    begin = time.monotonic()
    with pytest.raises(LevelfieldError, match="disk is full"):
        parallel.run([wait, fail, lambda: began.append("too late")], at_once=2)
    assert time.monotonic() - begin < 20
    going.set()
    time.sleep(0.5)
    assert "too late" not in began


def test_an_interrupt_inside_a_job_comes_out() -> None:
    def interrupt() -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        parallel.run([interrupt], at_once=2)
