"""One timed window: what is counted, what is not, and that the clock tells the truth."""

import gc
import itertools
import time
from collections.abc import Iterable, Iterator

import pytest

from levelfield.worker import window
from levelfield.worker.messages import Measure
from levelfield.worker.window import measure_window, timed_answers

MS = 1_000_000


class Step:
    """A step that counts its calls and lasts as long as asked."""

    def __init__(self, ns: int = 0, *, fail_at: int = -1) -> None:
        self.calls = 0
        self.inputs: list[object] = []
        self.collector_was_on = False
        self._ns = ns
        self._fail_at = fail_at

    def __call__(self, inputs: object) -> None:
        self.inputs.append(inputs)
        self.calls += 1
        self.collector_was_on |= gc.isenabled()
        if self.calls == self._fail_at:
            raise RuntimeError("no more")
        if self._ns:
            time.sleep(self._ns / 1e9)


def test_every_call_of_the_window_is_a_sample_and_no_other() -> None:
    step = Step(MS)
    measured = measure_window(step, ("inputs",), Measure(window_ns=50 * MS, rewarm_ns=10 * MS, rewarm_calls=2))
    assert step.inputs == ["inputs"] * step.calls
    assert step.calls == len(measured.rewarm_ns) + len(measured.samples_ns)
    assert len(measured.rewarm_ns) >= 2
    assert measured.window_ns >= 50 * MS
    assert all(sample >= MS for sample in measured.samples_ns)
    assert sum(measured.samples_ns) <= measured.window_ns
    assert sum(measured.samples_ns[:-1]) < 50 * MS


def test_batches_are_taken_in_turn_and_no_call_takes_that_of_the_one_before() -> None:
    step = Step()
    measured = measure_window(step, ("a", "b", "c"), Measure(window_ns=0, min_calls=7, rewarm_calls=2))
    assert len(measured.samples_ns) == 7
    assert step.inputs == ["a", "b", "c"] * 3


def test_the_choice_of_a_batch_is_in_no_sample(monkeypatch: pytest.MonkeyPatch) -> None:
    def slowly(batches: Iterable[int]) -> Iterator[int]:
        for each in itertools.cycle(batches):
            time.sleep(0.02)
            yield each

    monkeypatch.setattr(window, "cycle", slowly)
    measured = measure_window(Step(), (1, 2, 3), Measure(window_ns=0, min_calls=3, rewarm_calls=0))
    assert measured.window_ns - sum(measured.samples_ns) >= 3 * 20 * MS


def test_at_most_so_many_calls() -> None:
    step = Step()
    measured = measure_window(step, (None,), Measure(window_ns=10**12, max_calls=5, rewarm_ns=10**12))
    assert (len(measured.samples_ns), len(measured.rewarm_ns)) == (5, 5)


def test_an_injected_slowdown_is_true_time_inside_every_call() -> None:
    measured = measure_window(Step(), (None,), Measure(window_ns=0, min_calls=100, inject_ns=MS))
    assert all(sample >= MS for sample in measured.samples_ns)
    assert all(sample >= MS for sample in measured.rewarm_ns)
    assert measured.voluntary_switches < len(measured.samples_ns), "it computes: a sleep gives the core away"


def test_the_garbage_collector_rests_and_works_again() -> None:
    step = Step()
    measure_window(step, (None,), Measure(window_ns=0, min_calls=3))
    assert not step.collector_was_on
    assert gc.isenabled()


def test_the_garbage_collector_works_again_after_a_failure() -> None:
    with pytest.raises(RuntimeError, match="no more"):
        measure_window(Step(fail_at=3), (None,), Measure(window_ns=10**12))
    assert gc.isenabled()


def test_cpu_time_is_counted_and_sleep_is_not() -> None:
    asleep = measure_window(Step(20 * MS), (None,), Measure(window_ns=200 * MS))
    assert asleep.user_ns + asleep.system_ns < 100 * MS
    assert asleep.voluntary_switches >= len(asleep.samples_ns)

    def computes(_: object) -> None:
        end = time.process_time() + 0.03
        while time.process_time() < end:
            pass

    busy = measure_window(computes, (None,), Measure(window_ns=0, min_calls=5))
    assert busy.user_ns + busy.system_ns > 100 * MS


def test_answers_are_kept_one_by_one_and_only_the_calls_are_timed() -> None:
    reused = [0]

    def run(inputs: int) -> list[int]:
        reused[0] = inputs
        return reused

    def slowly(output: list[int]) -> int:
        time.sleep(0.01)
        return output[0]

    kept, calls = timed_answers(run, iter([7, 8, 9]), slowly)
    assert kept == [7, 8, 9]  # though every answer overwrote the one before
    assert len(calls.samples_ns) == 3
    assert calls.window_ns - sum(calls.samples_ns) >= 3 * 10 * MS
