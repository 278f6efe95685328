"""What is timed in a plain container: a loop as anybody would write it, around Levelfield's step or transformers' own.

The text of this file is given to `python -c` in an image: it runs beside the worker and shares nothing of it but the
backend's `load`. First line in: `FormRequest`; out: an `Answer`. Every other line in: `Windows`; out: for each window,
the nanoseconds of its calls. It ends when stdin closes.
"""

import inspect
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias

import msgspec
import numpy as np

from levelfield.backends import registry
from levelfield.backends.protocol import Arrays, Options
from levelfield.worker.messages import Measure, Task
from levelfield.worker.sources import inputs_of, source_of
from levelfield.worker.window import measure_window

Call: TypeAlias = Callable[[Any], Any]
"""What is timed."""
VERIFIED = 4
"""Inputs, at the least, whose outputs are sent to be compared with the reference."""


class FormRequest(msgspec.Struct, frozen=True):
    """What a process is to run."""

    task: Task
    """The model in Levelfield's own way: backend, batch, weights or ONNX file."""
    folder: str | None = None
    """Folder of the model as the transformers library loads it; None: the step that Levelfield times is loaded."""


class Answer(msgspec.Struct, frozen=True):
    """What the step computes for the given inputs."""

    shape: tuple[int, ...]
    output: bytes
    """float32, little endian, C order."""


class Windows(msgspec.Struct, frozen=True):
    """Windows to take one after the other, without a word to the supervisor in between."""

    loops: tuple[str, ...]
    """Of each: one of `LOOPS`, or `take`, the worker's own, in this same process."""
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


class _Form(msgspec.Struct):
    call: Call
    """Timed."""
    output: Callable[[Any], Any]
    """The same computation, its result as an array; never timed."""
    place: Call = lambda x: x
    """Makes what is timed of the inputs, untimed: a decoder fills its cache with the prompt."""


def from_levelfield(task: Task) -> _Form:
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


def from_folder(request: FormRequest) -> _Form:
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


def main() -> None:
    # Frameworks print to stdout: the answers get a private copy of it.
    private = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    lines = sys.stdin.buffer

    def say(answer: object) -> None:
        private.write(msgspec.json.encode(answer) + b"\n")
        private.flush()

    request = msgspec.json.decode(lines.readline(), type=FormRequest)
    form = from_levelfield(request.task) if request.folder is None else from_folder(request)
    x = inputs_of(request.task, 0)
    output = np.asarray(form.output(x)).astype("<f4")
    say(Answer(output.shape, output.tobytes()))
    placed = form.place(x)
    for line in lines:
        windows = msgspec.json.decode(line, type=Windows)
        say([window_of(loop, form.call, placed, windows) for loop in windows.loops])
    os._exit(0)  # frameworks may hang in their exit handlers; everything has been said


if __name__ == "__main__":
    main()
