"""What is timed in a container."""

import numpy as np
import pytest

from suite.trials.folklore import inside
from suite.trials.folklore.forms import FAIRLY, FRAMEWORKS
from suite.worker.messages import Task
from suite.zoo import inputs, models, weights


def test_a_window_makes_the_calls_it_is_asked_for() -> None:
    calls: list[int] = []
    ask = inside.Ask("as published", window_ns=0, min_calls=4, rewarm_ns=0)
    samples = inside.window(lambda x: calls.append(len(x)), np.zeros((7, 200), np.float32), ask)
    assert len(samples) == 4
    assert calls == [7] * 5  # one of them to warm up


def test_the_polls_of_the_published_loop_are_inside_the_call() -> None:
    calls: list[int] = []
    inside.polled(lambda x: calls.append(len(x)))(np.zeros((3, 200), np.float32))
    assert calls == [3]


@pytest.mark.framework
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("backend", ["torch", "tensorflow", "jax"])
def test_the_published_forms_compute_the_model_where_they_have_its_weights(backend: str) -> None:
    pytest.importorskip(backend)
    model = models.get("mlp")
    task = Task(backend=backend, model="mlp", batch=8, threads=1)
    made = inside.PUBLISHED[backend](inside.Given(task, ()), weights.make(model))
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
