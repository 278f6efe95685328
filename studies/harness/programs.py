"""Calls pyperf and optimum-benchmark in their images, as their documentation does, and prints what they report.

pyperf starts this file again for each of its worker processes, and what is measured stands in a file beside it;
optimum-benchmark is given a `Request` as JSON, and starts the process that it measures in itself. Of either this
process is the supervisor; its last line is an `Answer` after `ANSWER`.
"""

import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec

from levelfield.backends import registry
from levelfield.backends.protocol import Options
from levelfield.worker.messages import Task
from levelfield.worker.sources import inputs_of, source_of

ANSWER = "levelfield answer: "
TASK = "task.json"
"""File beside this one."""


class Request(msgspec.Struct, frozen=True):
    """What optimum-benchmark is to measure."""

    model: str
    """Folder of the model."""
    batch: int
    sequence: int
    duration_s: int | None = None
    """None, here and below: as optimum-benchmark chooses."""
    iterations: int | None = None
    """At the least."""
    warmups: int | None = None


class Answer(msgspec.Struct, frozen=True):
    """What a tool reported."""

    median_ns: float
    calls: int
    """Of pyperf, values: each is a call, or the mean of several where a call is short."""
    supervisor_share: float | None
    """CPU time of this process while the process that is measured was alive, as a share of one core."""
    wall_s: float


def _supervised(measure: Callable[[], Any], report: Callable[[Any], tuple[float, int]]) -> None:
    """Let a tool measure; print its median in nanoseconds and its number of calls, and what its supervisor took."""
    began, used = time.perf_counter(), time.process_time()
    found = measure()
    wall_s = time.perf_counter() - began
    share = (time.process_time() - used) / wall_s
    print(ANSWER + msgspec.json.encode(Answer(*report(found), share, wall_s)).decode(), flush=True)


def by_pyperf() -> None:
    """Time the step that Levelfield times; in a process that pyperf started, make its calls."""
    import pyperf

    task = msgspec.json.decode((Path(__file__).parent / TASK).read_bytes(), type=Task)
    runner = pyperf.Runner()
    if "--worker" in sys.argv:
        options = Options(threads=task.threads, precision=task.precision, device=task.device, settings=task.settings)
        step = registry.create(task.backend, options).load(source_of(task))
        runner.bench_func(task.model, step, inputs_of(task, 0))
        return
    # The supervisor starts processes that make the call, and makes none itself.
    _supervised(
        lambda: runner.bench_func(task.model, lambda: None), lambda found: (found.median() * 1e9, found.get_nvalue())
    )


def by_optimum_benchmark(request: Request) -> None:
    """Time a folder of transformers."""
    # Of its own log only what goes to the terminal is wanted: the folder that it starts in cannot be written to.
    os.environ["LOG_TO_FILE"] = "0"
    os.environ["HF_HUB_OFFLINE"] = "1"
    from optimum_benchmark import Benchmark, BenchmarkConfig, InferenceConfig, ProcessConfig, PyTorchConfig

    asked = {"duration": request.duration_s, "iterations": request.iterations, "warmup_runs": request.warmups}
    config = BenchmarkConfig(
        name="levelfield",
        launcher=ProcessConfig(),
        backend=PyTorchConfig(
            model=request.model, task="feature-extraction", library="transformers", model_type="bert", device="cpu"
        ),
        scenario=InferenceConfig(
            input_shapes={"batch_size": request.batch, "sequence_length": request.sequence},
            **{name: value for name, value in asked.items() if value is not None},
        ),
    )

    def report(found: Any) -> tuple[float, int]:  # noqa: ANN401  (a type of the tool)
        return float(found.forward.latency.p50) * 1e9, found.forward.latency.count

    _supervised(lambda: Benchmark.launch(config), report)


if __name__ == "__main__":
    if sys.argv[1].startswith("{"):
        by_optimum_benchmark(msgspec.json.decode(sys.argv[1], type=Request))
    else:
        by_pyperf()
