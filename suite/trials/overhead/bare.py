"""A loop as anybody would write it around the same step, to hold the harness against.

The text of this file is given to `python -c` in an image: it runs beside the worker and shares nothing of it but the
backend's `load`. First line in: a `Task`. Every other line: an `Ask`. It ends when stdin closes.
"""

import inspect
import os
import random
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec

from suite.backends import registry
from suite.backends.protocol import Arrays, Options, Source, Step
from suite.worker.messages import Measure, Task, Verified
from suite.worker.window import measure_window
from suite.zoo import inputs, models, weights

VERIFIED = 4
"""Inputs whose outputs are sent to be compared with the reference."""


class Ask(msgspec.Struct, frozen=True, tag="window"):
    """One window."""

    loop: str
    """`bare`: the bare loop; `take`: the harness's own, in this same process; `own-clock`: what OpenVINO's request says
    each call took."""
    window_ns: int
    min_calls: int
    rewarm_ns: int


class Samples(msgspec.Struct, frozen=True):
    samples_ns: list[int]


class AskTurns(msgspec.Struct, frozen=True, tag="turns"):
    """Short windows of two loops in turns, without a word to the supervisor in between."""

    loops: tuple[str, str]
    """As in `Ask`."""
    turns: int
    """Windows of each."""
    window_ns: int
    min_calls: int
    rewarm_ns: int
    seed: int
    """Of the order within each turn."""


class Turns(msgspec.Struct, frozen=True):
    turns: list[dict[str, list[int]]]
    """Samples by loop in ns, in the order of time: turns, and the two loops within each."""


def bare_loop(step: Step, x: Arrays, window_ns: int, min_calls: int) -> list[int]:
    """Time each call, and nothing else: no counters are read, the garbage collector does as it likes.

    Parameters
    ----------
    step : callable
        What is timed.
    x : dict of str to ndarray
        Its inputs.
    window_ns, min_calls : int
        Length of the window, and its fewest calls.

    Returns
    -------
    list of int
        Nanoseconds of each call.
    """
    samples: list[int] = []
    end = time.perf_counter_ns() + window_ns
    while time.perf_counter_ns() < end or len(samples) < min_calls:
        t = time.perf_counter_ns()
        step(x)
        samples.append(time.perf_counter_ns() - t)
    return samples


def window_of(loop: str, step: Step, x: Arrays, window_ns: int, min_calls: int, rewarm_ns: int) -> list[int]:
    """Warm up as the harness does, and take one window by a loop's name.

    Parameters
    ----------
    loop : str
        As in `Ask`.
    step : callable
        What is timed.
    x : dict of str to ndarray
        Its inputs.
    window_ns, min_calls : int
        Length of the window, and its fewest calls.
    rewarm_ns : int
        How long unrecorded calls go on before.

    Returns
    -------
    list of int
        Nanoseconds of each call.
    """
    if loop == "take":
        measure = Measure(window_ns=window_ns, min_calls=min_calls, rewarm_ns=rewarm_ns)
        return list(measure_window(step, (x,), measure).samples_ns)
    bare_loop(step, x, rewarm_ns, 1)
    return (own_clock if loop == "own-clock" else bare_loop)(step, x, window_ns, min_calls)


def in_turns(step: Step, x: Arrays, ask: AskTurns) -> Turns:
    """Let two loops take turns around the same step, in random order.

    Parameters
    ----------
    step : callable
        What is timed.
    x : dict of str to ndarray
        Its inputs.
    ask : AskTurns
        Loops and windows.

    Returns
    -------
    Turns
    """
    order = random.Random(ask.seed)  # noqa: S311 (a schedule)
    found: list[dict[str, list[int]]] = []
    for _ in range(ask.turns):
        loops = order.sample(ask.loops, 2)
        found.append({loop: window_of(loop, step, x, ask.window_ns, ask.min_calls, ask.rewarm_ns) for loop in loops})
    return Turns(found)


def own_clock(step: Step, x: Arrays, window_ns: int, min_calls: int) -> list[int]:
    """Ask OpenVINO's request after each call how long the inference took, as `benchmark_app` does.

    Parameters
    ----------
    step : callable
        What is timed.
    x : dict of str to ndarray
        Its inputs.
    window_ns, min_calls : int
        Length of the window, and its fewest calls.

    Returns
    -------
    list of int
        Nanoseconds of each call.
    """
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
    options = Options(
        threads=task.threads,
        precision=task.precision,
        device=task.device,
        cache=Path(task.cache_path) if task.cache_path else None,
        settings=task.settings,
    )
    backend = registry.create(task.backend, options)
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
        ask = msgspec.json.decode(line, type=Ask | AskTurns)
        if isinstance(ask, AskTurns):
            say(in_turns(step, x, ask))
        else:
            say(Samples(window_of(ask.loop, step, x, ask.window_ns, ask.min_calls, ask.rewarm_ns)))
    os._exit(0)  # frameworks may hang in their exit handlers; everything has been said


if __name__ == "__main__":
    main()
