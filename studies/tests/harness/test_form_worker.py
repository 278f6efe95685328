"""What is timed in a plain container: loops around a step whose time is known."""

import math
import os
import subprocess
import sys
import time
from pathlib import Path

import msgspec
import numpy as np
import pytest

from levelfield.backends.protocol import Arrays
from levelfield.worker.messages import Task
from levelfield.zoo import models, weights
from studies.harness import form_worker
from studies.harness.form_worker import Windows, own_clock, request_of, window_of
from tests.commands import IMPORTS, ROOT

pytestmark = pytest.mark.alone

CALL_NS = 2_000_000


def sleeping(x: Arrays) -> np.ndarray[tuple[int, ...], np.dtype[np.float32]]:
    del x
    time.sleep(CALL_NS / 1e9)
    return np.zeros(1, np.float32)


@pytest.mark.parametrize("loop", ["bare", "take"])
def test_both_loops_time_every_call_until_the_window_is_over(loop: str) -> None:
    begin = time.perf_counter_ns()
    samples = window_of(loop, sleeping, {}, Windows((), window_ns=30_000_000, min_calls=1, rewarm_ns=1))
    elapsed_ns = time.perf_counter_ns() - begin
    assert min(samples) >= CALL_NS
    assert len(samples) >= 2
    assert 30_000_000 <= sum(samples) + CALL_NS <= elapsed_ns + CALL_NS
    assert len(window_of(loop, sleeping, {}, Windows((), window_ns=1, min_calls=4, rewarm_ns=1))) == 4


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
    with pytest.raises(LookupError, match="no inference request"):
        request_of(sleeping)


def test_a_process_answers_for_its_step_and_times_it(tmp_path: Path) -> None:
    """As in an image, where the text of the module is all there is of it."""
    weights.save(models.get("canary"), tmp_path / "weights")
    task = Task(backend="canary", model="canary", batch=1, threads=1, weights_path=str(tmp_path / "weights"))
    asked: list[msgspec.Struct] = [form_worker.FormRequest(task)]
    asked += [Windows(loops, window_ns=1, min_calls=2, rewarm_ns=1) for loops in (("bare",), ("bare", "take", "bare"))]
    done = subprocess.run(
        [sys.executable, "-P", "-c", Path(form_worker.__file__).read_text(encoding="utf-8")],
        input=b"".join(msgspec.json.encode(each) + b"\n" for each in asked),
        capture_output=True,
        check=True,
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": IMPORTS},
        timeout=60,
    )
    answers, one, several = done.stdout.splitlines()
    answer = msgspec.json.decode(answers, type=form_worker.Answer)
    assert answer.shape[0] == form_worker.VERIFIED
    assert len(answer.output) == 4 * math.prod(answer.shape)
    taken = [[len(samples) for samples in msgspec.json.decode(each, type=list[list[int]])] for each in (one, several)]
    assert taken == [[2], [2, 2, 2]]
