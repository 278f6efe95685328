"""Steps that take long are repeated while they go on."""

import threading
import time

import pytest

from levelfield.schedule import listener
from levelfield.schedule.listener import Repeating, SilentListener
from levelfield.schedule.outcomes import run_jobs
from tests.commands import eventually


class Heard(SilentListener):
    def __init__(self) -> None:
        self.said: list[str] = []

    def say(self, text: str) -> None:
        self.said.append(text)


def test_a_step_is_repeated_with_its_time_until_its_thread_has_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listener, "SAID_EVERY_S", 0.05)
    heard, over = Heard(), threading.Event()

    def install() -> None:
        steps.say("installing torch")
        over.wait()

    def prepare() -> None:
        steps.say("loading the exporter")
        run_jobs([install], at_once=1)

    with Repeating(heard) as steps:
        steps.say("asking the engine")
        job = threading.Thread(target=run_jobs, args=[[prepare]], kwargs={"at_once": 1}, name="MainThread/job")
        job.start()
        assert eventually(lambda: heard.said.count("installing torch (0 s)") > 1)
        over.set()
        job.join()
        ended = len(heard.said) + 1  # one may be under way
        time.sleep(0.3)
        assert len(heard.said) <= ended
    waiting = [each for each in heard.said[heard.said.index("installing torch (0 s)") :] if "loading" in each]
    assert not waiting, "the thread that waits for others is in no step"
    steps.say("exporting")
    assert (heard.said[0], heard.said[-1]) == ("asking the engine", "exporting")
