"""The bare loop itself, around a step whose time is known."""

import time

import numpy as np
import pytest

from suite.backends.protocol import Arrays
from suite.trials.overhead.bare import AskTurns, bare_loop, in_turns, own_clock, request_of

pytestmark = pytest.mark.alone

CALL_NS = 2_000_000


def sleeping(x: Arrays) -> np.ndarray[tuple[int, ...], np.dtype[np.float32]]:
    del x
    time.sleep(CALL_NS / 1e9)
    return np.zeros(1, np.float32)


def test_it_times_every_call_until_the_window_is_over() -> None:
    begin = time.perf_counter_ns()
    samples = bare_loop(sleeping, {}, 30_000_000, 1)
    elapsed_ns = time.perf_counter_ns() - begin
    assert min(samples) >= CALL_NS
    assert len(samples) >= 2
    assert elapsed_ns >= 30_000_000
    assert sum(samples) <= elapsed_ns


def test_it_makes_the_fewest_calls_asked_for() -> None:
    assert len(bare_loop(sleeping, {}, 1, 4)) == 4


def test_the_clock_of_the_request_is_found_behind_its_bound_method() -> None:
    class Request:
        latency = 0.0

        def infer(self, x: Arrays) -> np.ndarray[tuple[int, ...], np.dtype[np.float32]]:
            self.latency += 0.25  # milliseconds, as OpenVINO says them
            return np.zeros(len(x), np.float32)

    request = Request()
    infer = request.infer

    def step(x: Arrays) -> np.ndarray[tuple[int, ...], np.dtype[np.float32]]:
        return infer(x)

    assert request_of(step) is request
    assert own_clock(step, {}, 1, 3) == [250_000, 500_000, 750_000]


def test_a_step_without_a_request_is_refused() -> None:
    with pytest.raises(LookupError, match="no inference request"):
        request_of(sleeping)


def test_two_loops_take_turns_in_random_order() -> None:
    asked = AskTurns(loops=("bare", "take"), turns=12, window_ns=1, min_calls=2, rewarm_ns=1, seed=3)
    turns = in_turns(sleeping, {}, asked).turns
    assert len(turns) == 12
    assert all(len(samples) == 2 and min(samples) >= CALL_NS for turn in turns for samples in turn.values())
    assert {tuple(turn) for turn in turns} == {("bare", "take"), ("take", "bare")}
    assert [tuple(turn) for turn in in_turns(sleeping, {}, asked).turns] == [tuple(turn) for turn in turns]
