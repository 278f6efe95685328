"""The competing load: busy for its share of the time, on one CPU, and never longer than the trial."""

import os
import time

import psutil
import pytest

from studies.rigor.busy import LONGEST_S, competing, pattern

pytestmark = pytest.mark.alone


def test_the_load_is_busy_for_its_share_of_the_time() -> None:
    stretches = [next(each) for each in [pattern(0.3, 5)] for _ in range(4000)]
    busy, idle = (sum(each[place] for each in stretches) for place in (0, 1))
    assert busy / (busy + idle) == pytest.approx(0.3, abs=0.05)
    assert max(max(each) for each in stretches) <= LONGEST_S


def test_the_load_burns_one_cpu_and_ends_with_the_trial() -> None:
    cpu = min(os.sched_getaffinity(0))
    before = set(psutil.Process().children())
    with competing(0.9, cpu, seed=1, seconds=30):
        (process,) = set(psutil.Process().children()) - before
        time.sleep(1.5)
        times = process.cpu_times()
        assert times.user + times.system > 0.2
        assert process.cpu_affinity() == [cpu]
    assert not process.is_running()


def test_the_load_ends_by_itself() -> None:
    before = set(psutil.Process().children())
    with competing(0.5, min(os.sched_getaffinity(0)), seed=1, seconds=0.3):
        (process,) = set(psutil.Process().children()) - before
        assert psutil.wait_procs([process], timeout=20)[0] == [process]
    with competing(0.0, 0, seed=1, seconds=1):
        assert set(psutil.Process().children()) == before
