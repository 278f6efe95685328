"""Channels to real child processes, good and bad."""

import contextlib
import sys
import time
from pathlib import Path

import psutil
import pytest

from levelfield.launchers import channel as channels
from levelfield.launchers.channel import ChannelClosed, LineTooLong
from levelfield.launchers.process import ProcessChannel
from levelfield.launchers.worker import WorkerError, wait_for_answers
from levelfield.worker.messages import Probe, Probed
from tests.commands import eventually
from tests.launchers.scripts import PATIENCE_S, READY, channel, gone, worker


def test_a_full_stderr_does_not_stop_a_process() -> None:
    talker = channel("import sys\nsys.stderr.write('x' * 1_000_000 + 'last')\nprint('done', flush=True)\ninput()")
    assert talker.receive(PATIENCE_S) == b"done"
    assert talker.stderr_tail().endswith("xlast")
    talker.end(PATIENCE_S)


def test_lines_said_before_dying_are_read_first() -> None:
    dying = channel("print('one'); print('two'); print('half', end='')")
    assert dying.receive(PATIENCE_S) == b"one"
    assert dying.receive(PATIENCE_S) == b"two"
    with pytest.raises(ChannelClosed):
        dying.receive(PATIENCE_S)
    dying.end(PATIENCE_S)


def test_an_endless_line_is_cut_short(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(channels, "MAX_LINE_BYTES", 10_000_000)
    endless = channel("import sys\nwhile True: sys.stdout.write('x' * 100_000)")
    with pytest.raises(LineTooLong):
        endless.receive(PATIENCE_S)
    endless.end(0.0)
    assert endless.ending().killed_here


def test_a_process_that_will_not_end_is_killed_with_all_it_started() -> None:
    stubborn = channel(
        "import signal, subprocess, sys, time\n"
        "signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
        "child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(1000)'])\n"
        "print(child.pid, flush=True)\n"
        "time.sleep(1000)"
    )
    child = int(stubborn.receive(PATIENCE_S))
    stubborn.end(0.2)
    assert stubborn.ending().killed_here
    assert stubborn.pid is not None
    assert gone(stubborn.pid)
    assert eventually(lambda: gone(child))


def test_what_a_process_leaves_running_ends_with_it() -> None:
    careless = channel(
        "import subprocess, sys\n"
        "child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(1000)'])\n"
        "print(child.pid, flush=True)\n"
        "sys.stdin.read()"
    )
    child = int(careless.receive(PATIENCE_S))
    careless.end(PATIENCE_S)
    assert careless.ending().code == 0
    assert eventually(lambda: gone(child))


def test_a_process_gets_the_environment_it_is_given_and_no_other(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", "7")
    asked = ProcessChannel(
        [sys.executable, "-c", "import os; print(sorted(os.environ.items()), os.getcwd())"],
        environment={"A": "1", "LC_CTYPE": "C.UTF-8"},
        folder=tmp_path,
    )
    assert asked.receive(PATIENCE_S).decode() == f"[('A', '1'), ('LC_CTYPE', 'C.UTF-8')] {tmp_path}"
    asked.end(PATIENCE_S)


FLOODS = {
    "stderr": "import sys\nwhile True: sys.stderr.write('x' * 100_000)",
    "stdout in lines": "import sys\nwhile True: sys.stdout.write('x' * 1_000 + chr(10))",
    "both, and it ignores signals": (
        "import os, signal\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\nwhile True: os.write(2, b'x' * 100_000)\n"
    ),
}


@pytest.mark.parametrize("script", FLOODS.values(), ids=FLOODS)
def test_output_without_end_suspends_no_time_limit(script: str) -> None:
    talker = worker("import sys\n" + READY + script)
    talker.await_ready(PATIENCE_S)
    before_bytes, began = psutil.Process().memory_info().rss, time.monotonic()
    with pytest.raises(WorkerError) as caught:
        talker.ask(Probe(), Probed, 1.0)
    assert caught.value.kind in {"timeout", "protocol"}
    assert time.monotonic() - began < 5.0
    assert psutil.Process().memory_info().rss - before_bytes < 300_000_000
    assert gone(talker.pid or 0)


@pytest.mark.parametrize("script", FLOODS.values(), ids=FLOODS)
def test_waiting_for_several_ends_at_the_deadline_though_one_talks_without_end(script: str) -> None:
    talker = worker("import sys\n" + READY + script)
    talker.await_ready(PATIENCE_S)
    began = time.monotonic()
    with contextlib.suppress(WorkerError):  # one that talks in lines is found out before it is asked
        talker.post(Probe())
        wait_for_answers([talker], began + 1.0)
    assert time.monotonic() - began < 3.0
    talker.stop()
    assert gone(talker.pid or 0)


def test_a_worker_that_does_not_read_its_requests_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(channels, "SEND_TIMEOUT_S", 0.5)
    deaf = channel("import time\ntime.sleep(1000)")
    with pytest.raises(ChannelClosed):
        deaf.send(b"x" * 10_000_000)
    deaf.end(0.0)


def test_a_line_that_was_not_asked_for_is_no_answer_to_the_next_request() -> None:
    hasty = worker("import sys\n" + READY + READY + "sys.stdin.read()")
    hasty.await_ready(PATIENCE_S)
    assert eventually(hasty.answered)
    with pytest.raises(WorkerError) as caught:
        hasty.ask(Probe(), Probed, PATIENCE_S)
    assert caught.value.kind == "protocol"
    assert "no request had asked for" in caught.value.message
