"""What is timed in a plain container: loops around a step whose time is known, and published forms."""

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
from levelfield.zoo import inputs, models, weights
from studies.harness import form_worker
from studies.harness.form_worker import FAIRLY, Windows, own_clock, request_of, window_of
from studies.published_comparison.record import FRAMEWORKS
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
    bare, take = (FAIRLY, "bare"), (FAIRLY, "take")
    asked: list[msgspec.Struct] = [form_worker.FormsRequest(task)]
    asked += [Windows(turns, window_ns=1, min_calls=2, rewarm_ns=1) for turns in ((bare,), (bare, take, bare))]
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
    (answer,) = msgspec.json.decode(answers, type=list[form_worker.Answer])
    assert answer.form == FAIRLY
    assert answer.shape[0] == form_worker.VERIFIED
    assert len(answer.output) == 4 * math.prod(answer.shape)
    taken = [[len(samples) for samples in msgspec.json.decode(each, type=list[list[int]])] for each in (one, several)]
    assert taken == [[2], [2, 2, 2]]


def test_the_polls_of_the_published_loop_are_inside_the_call() -> None:
    calls: list[int] = []
    form_worker.polled(lambda x: calls.append(len(x)))(np.zeros((3, 200), np.float32))
    assert calls == [3]


@pytest.mark.framework
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("backend", ["torch", "tensorflow", "jax"])
def test_the_published_forms_compute_the_model_where_they_have_its_weights(backend: str) -> None:
    pytest.importorskip(backend)
    model = models.get("mlp")
    task = Task(backend=backend, model="mlp", batch=8, threads=1)
    made = form_worker.PUBLISHED[backend](form_worker.FormsRequest(task, ()), weights.make(model))
    x = np.ascontiguousarray(inputs.make(model, 0, 8)["features"], np.float32)
    answers = {name: form.output(x) for name, form in made.items()}
    wanted = {form.name for form in next(each for each in FRAMEWORKS if each.backend == backend).forms} - {FAIRLY}
    assert set(made) == wanted
    known = [np.asarray(answer) for answer in answers.values() if answer is not None]
    assert len(known) == (1 if backend == "jax" else len(wanted))
    for answer in known:
        np.testing.assert_allclose(answer, known[0], rtol=1e-5)
    for form in made.values():
        form.call(x)
