"""The order of turns, and waiting for a quiet machine before anything is timed."""

import os
import random
import subprocess
import sys
import time
from collections.abc import Iterator

import pytest

from levelfield.machine.signals import Signals
from studies.harness.schedule import await_quiet, turn_order

pytestmark = pytest.mark.alone


def test_two_loops_take_turns_in_random_order() -> None:
    turns = turn_order(("bare", "take"), 12, random.Random(3))
    pairs = list(zip(turns[::2], turns[1::2], strict=True))
    assert len(pairs) == 12
    assert set(pairs) == {("bare", "take"), ("take", "bare")}
    assert turns == turn_order(("bare", "take"), 12, random.Random(3))


@pytest.fixture
def signals() -> Iterator[Signals]:
    with Signals(sorted(os.sched_getaffinity(0))) as opened:
        yield opened


def test_waiting_has_an_end(signals: Signals) -> None:
    with subprocess.Popen([sys.executable, "-c", "while True: pass"]) as process:
        began = time.monotonic()
        assert not await_quiet({}, signals, quiet_s=0.1, most_s=1)
        assert time.monotonic() - began < 3
        process.kill()
