"""Plain calls, profiled calls, plain calls: of one loaded model, with the counts and the times that were asked."""

from typing import Any

import pytest

from levelfield.backends import registry
from levelfield.backends.canary import Canary
from levelfield.backends.profiling import protocol
from levelfield.backends.profiling.operators import Operator
from levelfield.backends.protocol import Options, Unsupported
from levelfield.worker.messages import Profile, Profiled, Task
from levelfield.worker.profiling import profile
from levelfield.worker.sources import inputs_of, source_of

CANARY = Task(backend="canary", model="canary", batch=1, threads=1)
REQUEST = Profile(window_ns=2_000_000, min_calls=4, max_calls=6, rewarm_ns=0)


class Loaded:
    """The canary, loaded, with every call of it counted."""

    def __init__(self) -> None:
        self.options = Options(threads=1)
        self.backend = Canary(self.options)
        self._step = self.backend.load(source_of(CANARY))
        self.inputs = inputs_of(CANARY, 0)
        self.calls = 0

    def step(self, inputs: Any) -> object:
        self.calls += 1
        return self._step(inputs)

    def profiled(self, request: Profile = REQUEST) -> Profiled:
        return profile(request, CANARY, self.backend, self.options, self.step, self.inputs)


def test_a_backend_without_a_profiler_is_not_supported() -> None:
    with pytest.raises(Unsupported, match=r"canary has no profiler that is read here\."):
        Loaded().profiled()


OPERATORS = (Operator("matmul", "first", 4, 3000.0),)


def test_plain_calls_before_and_after_stand_beside_what_the_profiler_saw(monkeypatch: pytest.MonkeyPatch) -> None:
    """The canary is given a profiler: those of frameworks run in their containers (`tests/run/test_explain.py`)."""
    loaded = Loaded()
    before: list[int] = []

    def found(_name: str, subject: protocol.Subject) -> protocol.Profile:
        before.append(loaded.calls)
        times = protocol.calls(subject.step, subject.inputs, subject.budget)
        return protocol.Profile("a clock", OPERATORS, times, "Whole microseconds.")

    assert not registry.get("canary").profiler
    monkeypatch.setattr(protocol, "profile", found)
    told = loaded.profiled()
    assert (told.source, told.operators, told.note) == ("a clock", OPERATORS, "Whole microseconds.")
    assert 4 <= len(told.profiled_ns) <= 6, "as many as were asked for"
    plain, warming = len(told.plain_ns), 2 * 3
    assert loaded.calls == plain + warming + len(told.profiled_ns)
    assert 4 + 3 <= before[0] < plain + 3, "some of the plain calls come after the profiler"
    assert all(each > 0 for each in told.plain_ns)
