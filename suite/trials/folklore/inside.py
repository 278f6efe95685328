"""The spam classifier in one framework, as a published comparison ran it, or fairly: what is timed, in its container.

The text of this file is given to `python -c` in an image, as that of `suite.trials.overhead.bare` is. First line
in: `Given`. Every other line: an `Ask`. It ends when stdin closes.

As published means as its script does it: a thousand inputs in host memory, what the framework does by default, and the
process asked for its CPU share and memory after every prediction, inside the timed region. Only the weights are ours,
so that answers can be compared; where the script makes its own in the call, that stays.
"""

import itertools
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias

import msgspec
import numpy as np
import numpy.typing as npt

from suite.backends import registry
from suite.backends.protocol import Options, Source
from suite.worker.messages import Task
from suite.zoo import inputs, models, weights

Batch: TypeAlias = npt.NDArray[np.float32]
"""Shape (samples, 200)."""
Call: TypeAlias = Callable[[Batch], object]
"""What is timed."""
MODEL = "mlp"
FEATURES = "features"
FAIRLY = "fairly"


class Given(msgspec.Struct, frozen=True):
    """What a process is to run."""

    task: Task
    """The model in Levelfield's own way: backend, batch, weights or ONNX file."""
    forms: tuple[str, ...]
    """Names of what it is to offer: of `PUBLISHED`, or `fairly`."""
    single_onnx: str | None = None
    """ONNX file of a batch of one, for what feeds one sample at a time."""


class Answer(msgspec.Struct, frozen=True):
    """What a form computes for the given inputs; an empty output where it hands nothing back."""

    form: str
    shape: tuple[int, ...]
    output: bytes
    """float32, little endian, C order."""


class Ask(msgspec.Struct, frozen=True):
    """One window of a form."""

    form: str
    window_ns: int
    min_calls: int
    rewarm_ns: int


class Samples(msgspec.Struct, frozen=True):
    samples_ns: list[int]


class _Form(msgspec.Struct):
    call: Call
    """Timed."""
    output: Callable[[Batch], Any]
    """The same computation, its result as an array; never timed. None: it has no weights of ours to compare."""


def torch_published(given: Given, parameters: weights.Arrays) -> dict[str, _Form]:
    """The module called on a new tensor, gradients recorded.

    Parameters
    ----------
    given : Given
        What the process is to run.
    parameters : dict of str to ndarray
        Weights of the model.

    Returns
    -------
    dict of str to _Form
        By name.
    """
    import torch

    from suite.zoo import torch_module

    module = torch_module.load(models.get(MODEL), parameters).requires_grad_(requires_grad=True)

    def published(x: Batch) -> object:
        return module(torch.tensor(x))

    def without_gradients(x: Batch) -> object:
        with torch.inference_mode():
            return module(torch.tensor(x))

    del given
    return {
        "as published": _Form(published, lambda x: module(torch.tensor(x)).detach().numpy()),
        "without gradients": _Form(without_gradients, lambda x: module(torch.tensor(x)).detach().numpy()),
    }


def tensorflow_published(given: Given, parameters: weights.Arrays) -> dict[str, _Form]:
    """A Keras model called as a function, eagerly; and by `predict`, as other tellings of the comparison do.

    Parameters
    ----------
    given : Given
        What the process is to run.
    parameters : dict of str to ndarray
        Weights of the model.

    Returns
    -------
    dict of str to _Form
        By name.
    """
    import tensorflow as tf

    layers = len(parameters) // 2
    model = tf.keras.Sequential(
        [
            tf.keras.layers.Input(shape=(parameters["layers.0.weight"].shape[1],)),
            *(
                tf.keras.layers.Dense(
                    len(parameters[f"layers.{number}.bias"]),
                    activation="relu" if number < layers - 1 else "sigmoid",
                )
                for number in range(layers)
            ),
        ]
    )
    model.compile()
    for number, layer in enumerate(model.layers):
        layer.set_weights([parameters[f"layers.{number}.weight"].T, parameters[f"layers.{number}.bias"]])
    del given
    return {
        "as published": _Form(model, lambda x: model(x).numpy()),
        "with predict": _Form(lambda x: model.predict(x, verbose=0), lambda x: model.predict(x, verbose=0)),
    }


def jax_published(given: Given, parameters: weights.Arrays) -> dict[str, _Form]:
    """Not compiled, weights of ones made in every call, no biases, and the result never waited for.

    Parameters
    ----------
    given : Given
        What the process is to run.
    parameters : dict of str to ndarray
        Weights of the model.

    Returns
    -------
    dict of str to _Form
        By name.
    """
    os.environ["JAX_PLATFORMS"] = "cpu"
    import jax
    import jax.numpy as jnp

    from suite.zoo.mlp.jax import forward
    from suite.zoo.mlp.spec import WIDTHS
    from suite.zoo.native import channels_last

    def network(x: Any) -> Any:  # noqa: ANN401  (an array of JAX's)
        for fan_in, fan_out in itertools.pairwise(WIDTHS[:-1]):
            x = jax.nn.relu(jnp.dot(x, jnp.ones((fan_in, fan_out))))
        return jax.nn.sigmoid(jnp.dot(x, jnp.ones(WIDTHS[-2:])))

    kept = jax.device_put(channels_last(parameters))
    del given
    return {
        "as published": _Form(lambda x: network(jnp.array(x)), _nothing),
        "waited for": _Form(lambda x: network(jnp.array(x)).block_until_ready(), _nothing),
        "weights made before": _Form(
            lambda x: forward(kept, jnp.array(x)).block_until_ready(), lambda x: forward(kept, jnp.array(x))
        ),
    }


def onnxruntime_published(given: Given, parameters: weights.Arrays) -> dict[str, _Form]:
    """One sample at a time in a Python loop, the input's name asked for each of them.

    Parameters
    ----------
    given : Given
        What the process is to run.
    parameters : dict of str to ndarray
        Weights of the model.

    Returns
    -------
    dict of str to _Form
        By name.
    """
    import onnxruntime as ort

    ort.disable_telemetry_events()
    session = ort.InferenceSession(given.single_onnx, providers=["CPUExecutionProvider"])

    def published(x: Batch) -> None:
        for index in range(x.shape[0]):
            session.run(None, {session.get_inputs()[0].name: x[index : index + 1]})

    def output(x: Batch) -> Any:  # noqa: ANN401  (an array)
        return np.concatenate([session.run(None, {FEATURES: x[index : index + 1]})[0] for index in range(len(x))])

    del parameters
    return {"as published": _Form(published, output)}


def openvino_published(given: Given, parameters: weights.Arrays) -> dict[str, _Form]:
    """One sample at a time in a Python loop, a new request for each, in the precision that OpenVINO chooses.

    Parameters
    ----------
    given : Given
        What the process is to run.
    parameters : dict of str to ndarray
        Weights of the model.

    Returns
    -------
    dict of str to _Form
        By name.
    """
    import openvino

    core = openvino.Core()
    compiled = core.compile_model(core.read_model(given.single_onnx), "CPU")
    request = compiled.create_infer_request()

    def published(x: Batch) -> None:
        for index in range(x.shape[0]):
            compiled.infer_new_request({0: x[index : index + 1]})

    def one_request(x: Batch) -> None:
        for index in range(x.shape[0]):
            request.infer({0: x[index : index + 1]}, share_inputs=True, share_outputs=True)

    def output(x: Batch) -> Any:  # noqa: ANN401  (an array)
        return np.concatenate([compiled.infer_new_request({0: x[index : index + 1]})[0] for index in range(len(x))])

    del parameters
    return {"as published": _Form(published, output), "one request": _Form(one_request, output)}


PUBLISHED: dict[str, Callable[[Given, weights.Arrays], dict[str, _Form]]] = {
    "torch": torch_published,
    "tensorflow": tensorflow_published,
    "jax": jax_published,
    "onnxruntime": onnxruntime_published,
    "openvino": openvino_published,
}
"""By backend: the published form first, then one thing mended after the other."""


def fairly(given: Given, parameters: weights.Arrays) -> dict[str, _Form]:
    """The step that Levelfield times: the whole batch, from NumPy to NumPy, completed.

    Parameters
    ----------
    given : Given
        What the process is to run.
    parameters : dict of str to ndarray
        Weights of the model.

    Returns
    -------
    dict of str to _Form
        The one form.
    """
    task = given.task
    backend = registry.create(task.backend, Options(threads=task.threads, precision=task.precision, device=task.device))
    example = inputs.make(models.get(MODEL), 0, task.batch)
    onnx = Path(task.onnx_path) if task.onnx_path else None
    step = backend.load(Source(model=MODEL, batch=task.batch, weights=parameters, example=example, onnx=onnx))
    return {FAIRLY: _Form(lambda x: step({FEATURES: x}), lambda x: np.array(step({FEATURES: x})))}


def _nothing(x: Batch) -> None:
    """Return no answer: its weights are its own."""
    del x


def polled(call: Call) -> Call:
    """Ask the process for its CPU share and memory after every call, as the published loop does."""
    import psutil

    process = psutil.Process()

    def with_polls(x: Batch) -> None:
        call(x)
        process.cpu_percent()
        process.memory_info()

    return with_polls


def window(call: Call, x: Batch, ask: Ask) -> list[int]:
    """Warm up again, then time call after call.

    Parameters
    ----------
    call : callable
        What is timed.
    x : ndarray
        Its input.
    ask : Ask
        Length of the window.

    Returns
    -------
    list of int
        Nanoseconds of each call.
    """
    end = time.perf_counter_ns() + ask.rewarm_ns
    while True:
        call(x)
        if time.perf_counter_ns() >= end:
            break
    samples: list[int] = []
    end = time.perf_counter_ns() + ask.window_ns
    while len(samples) < ask.min_calls or time.perf_counter_ns() < end:
        begin = time.perf_counter_ns()
        call(x)
        samples.append(time.perf_counter_ns() - begin)
    return samples


def forms(given: Given) -> dict[str, _Form]:
    """Make what was asked for."""
    path = given.task.weights_path
    parameters = weights.load(Path(path), models.get(MODEL)) if path else {}
    make = fairly if given.forms == (FAIRLY,) else PUBLISHED[given.task.backend]
    made = make(given, parameters)
    return {name: made[name] for name in given.forms}


def main() -> None:
    # Frameworks print to stdout: the answers get a private copy of it.
    private = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    lines = sys.stdin.buffer

    def say(answer: object) -> None:
        private.write(msgspec.json.encode(answer) + b"\n")
        private.flush()

    given = msgspec.json.decode(lines.readline(), type=Given)
    made = forms(given)
    x = np.ascontiguousarray(inputs.make(models.get(MODEL), 0, given.task.batch)[FEATURES], dtype=np.float32)
    answers = []
    for name, form in made.items():
        output = form.output(x)
        array = np.zeros((0,), "<f4") if output is None else np.asarray(output).astype("<f4")
        answers.append(Answer(name, array.shape, array.tobytes()))
    say(answers)
    calls = {name: form.call if name == FAIRLY else polled(form.call) for name, form in made.items()}
    for line in lines:
        ask = msgspec.json.decode(line, type=Ask)
        say(Samples(window(calls[ask.form], x, ask)))
    os._exit(0)  # frameworks may hang in their exit handlers; everything has been said


if __name__ == "__main__":
    main()
