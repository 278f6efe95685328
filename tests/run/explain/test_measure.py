"""One result, profiled in a launch of its own: what cannot be is one sentence, and no worker is left behind."""

import pytest

from levelfield.errors import LevelfieldError
from levelfield.launchers.host import HostLauncher
from levelfield.record.schema import Arm, Case
from levelfield.run.explain.measure import explain
from levelfield.run.explain.request import ExplainRequest
from levelfield.schedule.listener import SilentListener
from tests import canaries


class Remembering(SilentListener):
    def __init__(self) -> None:
        self.said: list[str] = []

    def say(self, text: str) -> None:
        self.said.append(text)


def request(arm: Arm, model: str = "canary") -> ExplainRequest:
    made = canaries.plan("latency", arms=(arm,), model=model)
    case = Case(model, "latency", "fp32", 1, 1)
    return ExplainRequest(id=f"{arm.id}/{case.id}", arm=arm, case=case, plan=made)


def test_a_backend_without_a_profiler_is_loaded_and_then_refused() -> None:
    listener = Remembering()
    asked = request(Arm("canary", "canary"))
    with pytest.raises(LevelfieldError) as caught:
        explain(asked, HostLauncher(), listener)
    assert caught.value.message == (f"{asked.id} could not be profiled: canary has no profiler that is read here.")
    assert [line for line in listener.said if asked.id in line] == [f"loading {asked.id}", f"profiling {asked.id}"]
    assert not canaries.workers()


def test_what_cannot_be_loaded_says_why() -> None:
    """The canary runs its own model only."""
    asked = request(Arm("canary", "canary"), model="mlp")
    with pytest.raises(LevelfieldError, match=r"could not be loaded: .*not mlp") as caught:
        explain(asked, HostLauncher(), SilentListener())
    assert "levelfield doctor" in caught.value.fix
    assert not canaries.workers()


def test_a_version_that_the_launcher_does_not_have() -> None:
    arm = Arm("canary", "canary", version="1.0.0")
    with pytest.raises(LevelfieldError, match=r"runs what is installed here, not canary 1\.0\.0"):
        explain(request(arm), HostLauncher(), SilentListener())
    assert not canaries.workers()
