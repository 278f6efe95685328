"""Calls optimum-benchmark as its documentation does, and writes what it reports of a call.

Its argument is a `Request` as JSON; its last line is an `Answer` after `ANSWER`. optimum-benchmark starts the process
that it measures in itself, and waits for it: this process is its supervisor.
"""

import os
import sys
import time

import msgspec

ANSWER = "levelfield answer: "


class Request(msgspec.Struct, frozen=True):
    """What to measure."""

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
    """What it reported."""

    median_ns: float
    calls: int
    supervisor_share: float
    """CPU time of this process while the process that is measured was alive, as a share of one core."""
    wall_s: float


def main(request: Request) -> None:
    """Measure, and print the answer."""
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
    began, used = time.perf_counter(), time.process_time()
    report = Benchmark.launch(config)
    wall_s = time.perf_counter() - began
    share = (time.process_time() - used) / wall_s
    found = report.forward.latency
    print(ANSWER + msgspec.json.encode(Answer(float(found.p50) * 1e9, found.count, share, wall_s)).decode(), flush=True)


if __name__ == "__main__":
    main(msgspec.json.decode(sys.argv[1], type=Request))
