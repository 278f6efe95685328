"""A benchmark script for pyperf, as its documentation writes one, around the step that Levelfield times.

pyperf starts this file again for each of its worker processes. What is measured stands in a file beside it;
what pyperf found is written by pyperf itself (`--output`), and the first process, its supervisor, prints an `Answer`
after `ANSWER`.
"""

import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec

from suite.backends import registry
from suite.backends.protocol import Options
from suite.worker.messages import Task
from suite.worker.sources import inputs_of, source_of

ANSWER = "levelfield answer: "
REQUEST = "request.json"
"""File beside this one."""
WORKER = "--worker"
"""pyperf starts its processes with it."""


class Request(msgspec.Struct, frozen=True):
    """What to measure."""

    task: Task
    inject_ns: int = 0
    """A busy-wait that every call ends with."""


class Answer(msgspec.Struct, frozen=True):
    """What it reported."""

    median_ns: float
    calls: int
    """Values: each is a call, or the mean of several where a call is short."""
    supervisor_share: float
    """CPU time of this process while it waited for its workers, as a share of one core."""
    wall_s: float


def step_of(request: Request) -> tuple[Callable[[Any], object], Any]:
    """Load the step, as a worker does, and return it with its input."""
    task = request.task
    options = Options(threads=task.threads, precision=task.precision, device=task.device, settings=task.settings)
    step: Callable[[Any], object] = registry.create(task.backend, options).load(source_of(task))
    return (slowed(step, request.inject_ns) if request.inject_ns else step), inputs_of(task, 0)


def slowed(step: Callable[[Any], object], inject_ns: int) -> Callable[[Any], object]:
    """Make every call longer by a busy-wait, as Levelfield's worker does."""
    clock = time.perf_counter_ns

    def longer(inputs: Any) -> object:  # noqa: ANN401  (arrays of any kind)
        output = step(inputs)
        end = clock() + inject_ns
        while clock() < end:
            pass
        return output

    return longer


def main() -> None:
    """Measure, and print the answer."""
    import pyperf

    request = msgspec.json.decode((Path(__file__).parent / REQUEST).read_bytes(), type=Request)
    runner = pyperf.Runner()
    if WORKER in sys.argv:
        step, inputs = step_of(request)
        runner.bench_func(request.task.model, step, inputs)
        return
    began, used = time.perf_counter(), time.process_time()
    found = runner.bench_func(request.task.model, _in_a_worker)
    wall_s = time.perf_counter() - began
    share = (time.process_time() - used) / wall_s
    if found is None:
        raise SystemExit("pyperf gave no benchmark")
    answer = Answer(found.median() * 1e9, found.get_nvalue(), share, wall_s)
    print(ANSWER + msgspec.json.encode(answer).decode(), flush=True)


def _in_a_worker() -> None:
    """Stand for the call: pyperf's supervisor starts processes that make it, and makes none itself."""
    raise RuntimeError("called in the supervisor")


if __name__ == "__main__":
    main()
