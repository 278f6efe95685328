"""A loop as anybody would write it around the same step, to hold the harness against.

The text of this file is given to `python -c` in an image: it runs beside the worker and shares nothing of it but the
backend's `load`. First line in: a `Task`. Every other line: an `Ask`. It ends when stdin closes.
"""

import inspect
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec

from suite.backends import registry
from suite.backends.protocol import Arrays, Options, Source, Step
from suite.worker.messages import Measure, Task, Verified
from suite.worker.window import take
from suite.zoo import inputs, models, weights

VERIFIED = 4
"""Inputs whose outputs are sent to be compared with the reference."""


class Ask(msgspec.Struct, frozen=True):
    """One window."""

    loop: str
    """`bare`: the bare loop; `take`: the harness's own, in this same process; `own-clock`: what OpenVINO's request says
    each call took."""
    window_ns: int
    min_calls: int
    rewarm_ns: int


class Samples(msgspec.Struct, frozen=True):
    samples_ns: list[int]


def bare_loop(step: Step, x: Arrays, window_ns: int, min_calls: int) -> list[int]:
    """Time each call, and nothing else: no counters are read, the garbage collector does as it likes."""
    samples: list[int] = []
    end = time.perf_counter_ns() + window_ns
    while time.perf_counter_ns() < end or len(samples) < min_calls:
        t = time.perf_counter_ns()
        step(x)
        samples.append(time.perf_counter_ns() - t)
    return samples


def own_clock(step: Step, x: Arrays, window_ns: int, min_calls: int) -> list[int]:
    """Ask OpenVINO's request after each call how long the inference took, as `benchmark_app` does."""
    request = request_of(step)
    samples: list[int] = []
    end = time.perf_counter_ns() + window_ns
    while time.perf_counter_ns() < end or len(samples) < min_calls:
        step(x)
        samples.append(round(request.latency * 1e6))
    return samples


def request_of(step: Callable[..., object]) -> Any:  # noqa: ANN401  (OpenVINO's own type)
    """Find the inference request that a step holds.

    Raises
    ------
    LookupError
        The step holds none.
    """
    for value in inspect.getclosurevars(step).nonlocals.values():
        for each in (value, getattr(value, "__self__", None)):
            if hasattr(each, "latency"):
                return each
    raise LookupError("This step holds no inference request with a clock of its own.")


def load(task: Task) -> tuple[Step, Arrays, Verified]:
    """Load the step as the worker does, and compute what proves that it is the same model."""
    backend = registry.create(task.backend, Options(threads=task.threads, precision=task.precision, device=task.device))
    model = models.get(task.model)
    info = registry.get(task.backend)
    example = inputs.make(model, 0, task.batch, layout=info.layout)
    parameters = {} if info.reads == "onnx" else weights.load(Path(task.weights_path or ""), model)
    onnx = Path(task.onnx_path) if task.onnx_path else None
    step = backend.load(
        Source(model=task.model, batch=task.batch, weights=parameters, example=example, onnx=onnx),
    )
    count = -(-VERIFIED // task.batch) * task.batch
    outputs = [
        step(inputs.make(model, first, task.batch, layout=info.layout)).astype("<f4").tobytes()
        for first in range(0, count, task.batch)
    ]
    shape = (count, *step(example).shape[1:])
    return step, example, Verified(shape=shape, output=b"".join(outputs))


def main() -> None:
    # Frameworks print to stdout: the answers get a private copy of it.
    private = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    lines = sys.stdin.buffer

    def say(answer: object) -> None:
        private.write(msgspec.json.encode(answer) + b"\n")
        private.flush()

    step, x, verified = load(msgspec.json.decode(lines.readline(), type=Task))
    say(verified)
    for line in lines:
        ask = msgspec.json.decode(line, type=Ask)
        if ask.loop == "take":
            measure = Measure(window_ns=ask.window_ns, min_calls=ask.min_calls, rewarm_ns=ask.rewarm_ns)
            samples = list(take(step, x, measure).samples_ns)
        else:
            bare_loop(step, x, ask.rewarm_ns, 1)  # the harness warms up again before its windows, so this does too
            loop = own_clock if ask.loop == "own-clock" else bare_loop
            samples = loop(step, x, ask.window_ns, ask.min_calls)
        say(Samples(samples))
    os._exit(0)  # frameworks may hang in their exit handlers; everything has been said


if __name__ == "__main__":
    main()
