"""What is timed in a plain container: a loop as anybody would write it, around a step of Levelfield's or of others.

The text of this file is given to `python -c` in an image: it runs beside the worker and shares nothing of it but the
backend's `load`. First line in: `FormsRequest`; out: a list of `Answer`. Every other line in: `Windows`; out: for each
window, the nanoseconds of its calls. It ends when stdin closes.

The forms of others are those of a published comparison of five frameworks on a spam classifier. As published means as
its script does it: a thousand inputs in host memory, what the framework does by default, and the process asked for its
CPU share and memory after every prediction, inside the timed region. Only the weights are ours, so that answers can be
compared; where the script makes its own in the call, that stays.
"""

import inspect
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

from levelfield.backends import registry
from levelfield.backends.protocol import Arrays, Options
from levelfield.worker.messages import Measure, Task
from levelfield.worker.sources import initial_weights, inputs_of, source_of
from levelfield.worker.window import measure_window
from levelfield.zoo import models

Batch: TypeAlias = npt.NDArray[np.float32]
"""Shape (samples, 200)."""
Call: TypeAlias = Callable[[Any], Any]
"""What is timed; its input is a `Batch`, or the arrays of a step."""
MODEL = "mlp"
FEATURES = "features"
FAIRLY = "fairly"
"""Name of the step that Levelfield times."""
TRANSFORMERS = "transformers"
"""Name of the model of the transformers library, with inputs as optimum-benchmark makes them."""
VERIFIED = 4
"""Inputs, at the least, whose outputs are sent to be compared with the reference."""


class FormsRequest(msgspec.Struct, frozen=True):
    """What a process is to run."""

    task: Task
    """The model in Levelfield's own way: backend, batch, weights or ONNX file."""
    forms: tuple[str, ...] = (FAIRLY,)
    """Names of what it is to offer: `FAIRLY`, or some of `PUBLISHED`."""
    single_onnx: str | None = None
    """ONNX file of a batch of one, for what feeds one sample at a time."""
    folder: str | None = None
    """Folder of the model as the transformers library loads it, for `TRANSFORMERS`."""


class Answer(msgspec.Struct, frozen=True):
    """What a form computes for the given inputs; an empty output where it hands nothing back."""

    form: str
    shape: tuple[int, ...]
    output: bytes
    """float32, little endian, C order."""


class Windows(msgspec.Struct, frozen=True):
    """Windows to take one after the other, without a word to the supervisor in between."""

    turns: tuple[tuple[str, str], ...]
    """Form and loop of each. The loops are those of `LOOPS`, and `take`: the worker's own, in this same process."""
    window_ns: int
    min_calls: int
    rewarm_ns: int


def bare_loop(step: Call, x: Any, window_ns: int, min_calls: int) -> list[int]:  # noqa: ANN401  (arrays of any kind)
    """Time each call, and nothing else: no counters are read, the garbage collector does as it likes."""
    samples: list[int] = []
    end = time.perf_counter_ns() + window_ns
    while time.perf_counter_ns() < end or len(samples) < min_calls:
        t = time.perf_counter_ns()
        step(x)
        samples.append(time.perf_counter_ns() - t)
    return samples


def window_of(loop: str, step: Call, x: Any, request: Windows) -> list[int]:  # noqa: ANN401  (arrays of any kind)
    """Warm up as the worker does, and take one window."""
    if loop == "take":
        measure = Measure(window_ns=request.window_ns, min_calls=request.min_calls, rewarm_ns=request.rewarm_ns)
        return list(measure_window(step, (x,), measure).samples_ns)
    bare_loop(step, x, request.rewarm_ns, 1)
    return LOOPS[loop](step, x, request.window_ns, request.min_calls)


def own_clock(step: Call, x: Any, window_ns: int, min_calls: int) -> list[int]:  # noqa: ANN401  (arrays of any kind)
    """Ask OpenVINO's request after each call how long the inference took, as `benchmark_app` does."""
    request = request_of(step)
    samples: list[int] = []
    end = time.perf_counter_ns() + window_ns
    while time.perf_counter_ns() < end or len(samples) < min_calls:
        step(x)
        samples.append(round(request.latency * 1e6))
    return samples


def torch_timer(step: Call, x: Any, window_ns: int, min_calls: int) -> list[int]:  # noqa: ANN401  (arrays of any kind)
    """Let `torch.utils.benchmark` time the call, with as many threads as it has: its own default is one."""
    del min_calls
    import torch
    from torch.utils.benchmark import Timer

    timer = Timer("step(x)", globals={"step": step, "x": x}, num_threads=torch.get_num_threads())
    measured = timer.blocked_autorange(min_run_time=window_ns / 1e9)
    return [round(seconds * 1e9) for seconds in measured.times]


LOOPS: dict[str, Callable[[Call, Any, int, int], list[int]]] = {
    "bare": bare_loop,
    "own-clock": own_clock,
    "torch-timer": torch_timer,
}
"""The bare loop; what OpenVINO's request says each call took; what `torch.utils.benchmark` says of a call."""


def request_of(step: Callable[..., object]) -> Any:  # noqa: ANN401  (OpenVINO's own type)
    """Find the inference request that a step holds."""
    for value in inspect.getclosurevars(step).nonlocals.values():
        for each in (value, getattr(value, "__self__", None)):
            if hasattr(each, "latency"):
                return each
    raise LookupError("This step holds no inference request with a clock of its own.")


def _unchanged(x: Any) -> Any:  # noqa: ANN401  (arrays of any kind)
    return x


class _Form(msgspec.Struct):
    call: Call
    """Timed."""
    output: Callable[[Any], Any]
    """The same computation, its result as an array; never timed. None: it has no weights of ours to compare."""
    place: Call = _unchanged
    """Makes what is timed of the inputs, untimed: a decoder fills its cache with the prompt."""


def _torch_published(_: FormsRequest, parameters: Arrays) -> dict[str, _Form]:
    """The module called on a new tensor, gradients recorded."""
    import torch

    from levelfield.zoo import torch_module

    module = torch_module.load(models.get(MODEL), parameters).requires_grad_(requires_grad=True)

    def without_gradients(x: Batch) -> object:
        with torch.inference_mode():
            return module(torch.tensor(x))

    def output(x: Batch) -> object:
        return module(torch.tensor(x)).detach().numpy()

    return {
        "as published": _Form(lambda x: module(torch.tensor(x)), output),
        "without gradients": _Form(without_gradients, output),
    }


def _tensorflow_published(_: FormsRequest, parameters: Arrays) -> dict[str, _Form]:
    """A Keras model called as a function, eagerly; and by `predict`, as other tellings of the comparison do."""
    import tensorflow as tf

    layers = len(parameters) // 2
    model = tf.keras.Sequential(
        [
            tf.keras.layers.Input(shape=(parameters["layers.0.weight"].shape[1],)),
            *(
                tf.keras.layers.Dense(
                    len(parameters[f"layers.{number}.bias"]), activation="relu" if number < layers - 1 else "sigmoid"
                )
                for number in range(layers)
            ),
        ]
    )
    model.compile()
    for number, layer in enumerate(model.layers):
        layer.set_weights([parameters[f"layers.{number}.weight"].T, parameters[f"layers.{number}.bias"]])
    return {
        "as published": _Form(model, lambda x: model(x).numpy()),
        "with predict": _Form(lambda x: model.predict(x, verbose=0), lambda x: model.predict(x, verbose=0)),
    }


def _jax_published(_: FormsRequest, parameters: Arrays) -> dict[str, _Form]:
    """Not compiled, weights of ones made in every call, no biases, and the result never waited for."""
    os.environ["JAX_PLATFORMS"] = "cpu"
    import jax
    import jax.numpy as jnp

    from levelfield.zoo.mlp.jax import forward
    from levelfield.zoo.mlp.spec import WIDTHS
    from levelfield.zoo.native import channels_last

    def network(x: Any) -> Any:  # noqa: ANN401  (an array of JAX's)
        for fan_in, fan_out in itertools.pairwise(WIDTHS[:-1]):
            x = jax.nn.relu(jnp.dot(x, jnp.ones((fan_in, fan_out))))
        return jax.nn.sigmoid(jnp.dot(x, jnp.ones(WIDTHS[-2:])))

    kept = jax.device_put(channels_last(parameters))
    return {
        "as published": _Form(lambda x: network(jnp.array(x)), _nothing),
        "waited for": _Form(lambda x: network(jnp.array(x)).block_until_ready(), _nothing),
        "weights made before": _Form(
            lambda x: forward(kept, jnp.array(x)).block_until_ready(), lambda x: forward(kept, jnp.array(x))
        ),
    }


def _onnxruntime_published(request: FormsRequest, _: Arrays) -> dict[str, _Form]:
    """One sample at a time in a Python loop, the input's name asked for each of them."""
    import onnxruntime as ort

    ort.disable_telemetry_events()
    session = ort.InferenceSession(request.single_onnx, providers=["CPUExecutionProvider"])

    def published(x: Batch) -> None:
        for index in range(x.shape[0]):
            session.run(None, {session.get_inputs()[0].name: x[index : index + 1]})

    return {"as published": _Form(published, _one_by_one(lambda sample: session.run(None, {FEATURES: sample})[0]))}


def _openvino_published(request: FormsRequest, _: Arrays) -> dict[str, _Form]:
    """One sample at a time in a Python loop, a new request for each, in the precision that OpenVINO chooses."""
    import openvino

    core = openvino.Core()
    compiled = core.compile_model(core.read_model(request.single_onnx), "CPU")
    infer_request = compiled.create_infer_request()

    def published(x: Batch) -> None:
        for index in range(x.shape[0]):
            compiled.infer_new_request({0: x[index : index + 1]})

    def one_request(x: Batch) -> None:
        for index in range(x.shape[0]):
            infer_request.infer({0: x[index : index + 1]}, share_inputs=True, share_outputs=True)

    output = _one_by_one(lambda sample: compiled.infer_new_request({0: sample})[0])
    return {"as published": _Form(published, output), "one request": _Form(one_request, output)}


def _one_by_one(call: Call) -> Call:
    """Return a call of one sample as a call of a batch."""
    return lambda x: np.concatenate([call(x[index : index + 1]) for index in range(len(x))])


PUBLISHED: dict[str, Callable[[FormsRequest, Arrays], dict[str, _Form]]] = {
    "torch": _torch_published,
    "tensorflow": _tensorflow_published,
    "jax": _jax_published,
    "onnxruntime": _onnxruntime_published,
    "openvino": _openvino_published,
}
"""By backend: the published form first, then one thing mended after the other."""


def fairly(task: Task) -> _Form:
    """Load the step that Levelfield times, as the worker does: from NumPy to NumPy, completed.

    Its output is of `VERIFIED` inputs.
    """
    options = Options(
        threads=task.threads,
        precision=task.precision,
        device=task.device,
        cache=Path(task.cache_path) if task.cache_path else None,
        settings=task.settings,
    )
    step = registry.create(task.backend, options).load(source_of(task))

    def output(_: Arrays) -> Any:  # noqa: ANN401  (an array)
        return np.concatenate([np.array(step(inputs_of(task, first))) for first in range(0, VERIFIED, task.batch)])

    return _Form(step, output)


def from_folder(request: FormsRequest) -> _Form:
    """Load a folder as the transformers library does, and call its model on tensors, without gradients.

    What is timed gets the inputs that optimum-benchmark makes for itself, from its own seed; the output is of the
    task's own `VERIFIED` inputs.
    """
    os.environ["HF_HUB_OFFLINE"] = "1"
    import torch
    from optimum_benchmark.generators.input_generator import InputGenerator
    from transformers import AutoConfig, AutoModel, set_seed

    config = AutoConfig.from_pretrained(request.folder)
    model = AutoModel.from_pretrained(request.folder).eval()
    named = inputs_of(request.task, 0)
    shapes = {"batch_size": request.task.batch, "sequence_length": next(iter(named.values())).shape[1]}

    def place(_: Arrays) -> Any:  # noqa: ANN401  (tensors)
        set_seed(42)
        made = InputGenerator(
            task="feature-extraction", model_type=config.model_type, model_shapes=config.to_dict(), input_shapes=shapes
        )
        return made()

    def call(x: Any) -> Any:  # noqa: ANN401  (tensors)
        with torch.inference_mode():
            return model(**x)

    def output(_: Arrays) -> Any:  # noqa: ANN401  (an array)
        batches = [inputs_of(request.task, first) for first in range(0, VERIFIED, request.task.batch)]
        tensors = [{name: torch.from_numpy(array).long() for name, array in batch.items()} for batch in batches]
        return np.concatenate([call(batch).last_hidden_state.numpy() for batch in tensors])

    return _Form(call, output, place)


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


def forms(request: FormsRequest) -> dict[str, _Form]:
    """Return the requested forms by name."""
    if request.forms == (FAIRLY,):
        return {FAIRLY: fairly(request.task)}
    if request.forms == (TRANSFORMERS,):
        return {TRANSFORMERS: from_folder(request)}
    made = PUBLISHED[request.task.backend](request, initial_weights(request.task))
    return {name: _Form(polled(made[name].call), made[name].output) for name in request.forms}


def main() -> None:
    # Frameworks print to stdout: the answers get a private copy of it.
    private = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    lines = sys.stdin.buffer

    def say(answer: object) -> None:
        private.write(msgspec.json.encode(answer) + b"\n")
        private.flush()

    request = msgspec.json.decode(lines.readline(), type=FormsRequest)
    made = forms(request)
    x: Any = inputs_of(request.task, 0)
    if FAIRLY not in made and TRANSFORMERS not in made:
        x = np.ascontiguousarray(x[FEATURES], dtype=np.float32)
    answers = []
    for name, form in made.items():
        output = form.output(x)
        array = np.zeros((0,), "<f4") if output is None else np.asarray(output).astype("<f4")
        answers.append(Answer(name, array.shape, array.tobytes()))
    say(answers)
    placed = {name: form.place(x) for name, form in made.items()}
    for line in lines:
        windows = msgspec.json.decode(line, type=Windows)
        say([window_of(loop, made[form].call, placed[form], windows) for form, loop in windows.turns])
    os._exit(0)  # frameworks may hang in their exit handlers; everything has been said


if __name__ == "__main__":
    main()
