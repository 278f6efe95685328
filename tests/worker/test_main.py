"""`python -m levelfield.worker`: the process around the server, with its stdin, stdout and CPUs."""

import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from levelfield.worker.messages import Load, Loaded, Measure, Measured, Probe, Probed
from tests.worker.conversation import CANARY, Conversation


@pytest.fixture
def worker() -> Iterator[Conversation]:
    with Conversation() as conversation:
        yield conversation
    assert conversation.code == 0


PRINTING = """
import os, sys, types
class Printing:
    version = "1"
    def __init__(self, options):
        print("python print at import")
        os.system("echo a child process")
        os.write(1, b"straight to descriptor one\\n")
    def load(self, source):
        def step(inputs):
            print("python print in a step")
            return __import__("numpy").zeros((1, 513), "float32")
        return step
    def settings(self):
        return {}
import levelfield.backends.canary
levelfield.backends.canary.Canary = Printing
"""


def test_what_a_backend_prints_goes_to_stderr() -> None:
    with Conversation(code=PRINTING) as worker:
        assert isinstance(worker.ask(Load(CANARY)), Loaded)
        assert isinstance(worker.ask(Measure(window_ns=1, min_calls=2)), Measured)
    for words in ("python print at import", "a child process", "straight to descriptor one", "python print in a step"):
        assert words in worker.words
    assert worker.code == 0


def test_it_ends_when_its_supervisor_closes_stdin_in_the_middle_of_a_line() -> None:
    with Conversation() as worker:
        worker.stdin.write(b'{"type":"pro')
        worker.stdin.flush()
    assert worker.code == 0


def test_it_is_pinned_before_any_thread_is_made() -> None:
    cpu = max(os.sched_getaffinity(0))
    with Conversation(cpu=cpu) as worker:
        worker.ask(Load(CANARY))
        probed = worker.get(Probe(), Probed)
        assert probed.affinity == (cpu,)
        threads: list[dict[str, Any]] = [
            {"affinity": os.sched_getaffinity(int(thread.name))}
            for thread in Path(f"/proc/{worker.process.pid}/task").iterdir()
        ]
    assert all(thread["affinity"] == {cpu} for thread in threads)


def test_it_ends_at_once_when_stdin_is_closed_in_the_middle_of_its_work(worker: Conversation) -> None:
    worker.ask(Load(CANARY))
    worker.stdin.write(msgspec.json.encode(Measure(window_ns=10**15)) + b"\n")
    worker.stdin.flush()
    time.sleep(0.5)
    worker.stdin.close()
    assert worker.process.wait(60) == 0
