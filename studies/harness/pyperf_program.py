"""A benchmark script for pyperf, as its documentation writes one, around the step that Levelfield times.

pyperf starts this file again for each of its worker processes. What is measured stands in a file beside it;
what pyperf found is written by pyperf itself (`--output`), and the first process, its supervisor, prints an `Answer`
after `ANSWER`.
"""

import sys
import time
from pathlib import Path

import msgspec

from levelfield.backends import registry
from levelfield.backends.protocol import Options
from levelfield.worker.messages import Task
from levelfield.worker.sources import inputs_of, source_of

ANSWER = "levelfield answer: "
REQUEST = "request.json"
"""File beside this one."""
WORKER = "--worker"
"""pyperf starts its processes with it."""


class Answer(msgspec.Struct, frozen=True):
    """What it reported."""

    median_ns: float
    calls: int
    """Values: each is a call, or the mean of several where a call is short."""
    supervisor_share: float
    """CPU time of this process while it waited for its workers, as a share of one core."""
    wall_s: float


def main() -> None:
    """Measure, and print the answer."""
    import pyperf

    task = msgspec.json.decode((Path(__file__).parent / REQUEST).read_bytes(), type=Task)
    runner = pyperf.Runner()
    if WORKER in sys.argv:
        options = Options(threads=task.threads, precision=task.precision, device=task.device, settings=task.settings)
        step = registry.create(task.backend, options).load(source_of(task))
        runner.bench_func(task.model, step, inputs_of(task, 0))
        return
    began, used = time.perf_counter(), time.process_time()
    found = runner.bench_func(task.model, _in_a_worker)
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
