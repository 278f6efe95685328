"""Whether a window of Levelfield's agrees with a bare loop, `torch.utils.benchmark` and CUDA's own events.

`python -m studies.gpu.clock` loads each model once, with its inputs on the device (or, with `--memory host`, as
NumPy arrays that every call copies there), and lets the clocks take turns in random order on that one function. So what
differs is the clock alone. `triton.testing.do_bench` is shown beside them and not judged: it empties the GPU's cache
before every call, which is another question. It exits with 0 where all agree within 2 %, 1 where one does not, 2 where
nothing could be measured, 3 where it is undecided. On a CPU it runs without events.

References
----------
https://docs.pytorch.org/docs/stable/benchmark_utils.html; CUDA Runtime API, "Event Management";
https://triton-lang.org/main/python-api/generated/triton.testing.do_bench.html.
"""

import argparse
import importlib
import importlib.util
import math
import os
import random
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import msgspec

from levelfield.backends import registry
from levelfield.backends.protocol import Options, ResidentBackend, Source, Unsupported
from levelfield.record.files import write_atomically
from levelfield.statistics.student import MIN_LAUNCHES
from levelfield.worker.messages import Measure
from levelfield.worker.window import measure_window
from levelfield.zoo import inputs, models, weights

WITHIN = 0.02
TURNS = 15
WINDOW_NS = 300_000_000
SETTLE_CALLS = 20
AGREES, DIFFERS, COULD_NOT, UNDECIDED = range(4)
OURS = "a window"
BARE = "a bare loop"
COLD = "triton.testing.do_bench (empty cache)"
NOT_JUDGED = (COLD,)
"""They answer another question."""

Clock = Callable[[Callable[[], object]], float]
"""Takes a function that returns when its work is done; gives the typical call's nanoseconds."""


class Finding(msgspec.Struct, frozen=True):
    """One function, timed by all clocks."""

    backend: str
    model: str
    memory: str
    batch: int
    turns_ns: dict[str, list[float]]
    """Nanoseconds of the typical call in each turn, by clock."""
    agreements: list["Agreement"]


class Agreement(msgspec.Struct, frozen=True):
    """Another clock compared with ours."""

    clock: str
    ratio: float
    """Ours over the other's, with its interval."""
    low: float
    high: float
    difference_ns: float = 0.0
    """Ours less the other's, median over turns."""

    @property
    def verdict(self) -> int:
        if self.low >= 1 - WITHIN and self.high <= 1 + WITHIN:
            return AGREES
        return DIFFERS if self.low > 1 + WITHIN or self.high < 1 - WITHIN else UNDECIDED


def by_window(call: Callable[[], object]) -> float:
    """Time calls as a worker does."""
    return statistics.median(
        measure_window(lambda _: call(), (None,), Measure(window_ns=WINDOW_NS, min_calls=3)).samples_ns
    )


def by_bare_loop(call: Callable[[], object]) -> float:
    """Time calls by nothing but a loop and a clock."""
    clock = time.perf_counter_ns
    samples: list[int] = []
    end = clock() + WINDOW_NS
    while clock() < end or len(samples) < 3:
        start = clock()
        call()
        samples.append(clock() - start)
    return statistics.median(samples)


def by_torch(call: Callable[[], object]) -> float:
    """Time calls as `torch.utils.benchmark` does, which knows how to wait for a GPU; left alone it takes one thread."""
    import torch
    from torch.utils.benchmark import Timer

    timer: Any = Timer("call()", globals={"call": call}, num_threads=torch.get_num_threads())
    return float(timer.blocked_autorange(min_run_time=WINDOW_NS / 1e9).median) * 1e9


def by_events(call: Callable[[], object]) -> float:
    """Time calls by events that the GPU itself writes down, before and after each."""
    import torch

    times: list[float] = []
    while sum(times) < WINDOW_NS or len(times) < 3:
        start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        start.record()
        call()
        end.record()
        end.synchronize()
        times.append(start.elapsed_time(end) * 1e6)
    return statistics.median(times)


def by_do_bench(call: Callable[[], object]) -> float:
    """Time calls as Triton's tuning does: by events, the GPU's second-level cache emptied before each."""
    testing: Any = importlib.import_module("triton.testing")
    return float(testing.do_bench(call, warmup=25, rep=int(WINDOW_NS / 1e6), return_mode="median")) * 1e6


def clocks_for(backend: str, device: str) -> dict[str, Clock]:
    """Return the clocks that can time a backend here; events are those of torch's own stream."""
    found: dict[str, Clock] = {OURS: by_window, BARE: by_bare_loop}
    if importlib.util.find_spec("torch") is not None:
        found["torch.utils.benchmark"] = by_torch
    if device == "cuda" and backend.startswith("torch"):
        found["CUDA events"] = by_events
        if importlib.util.find_spec("triton") is not None:
            found[COLD] = by_do_bench
    return found


def load(backend: str, model_name: str, device: str, batch: int, *, memory: str = "device") -> Callable[[], object]:
    """Load a model as a worker does, and return a call of it that ends when its work is done."""
    made = registry.create(backend, Options(threads=len(os.sched_getaffinity(0)), device=device))
    if not isinstance(made, ResidentBackend):
        raise Unsupported(f"{backend} cannot leave inputs and outputs on a device.")
    model = models.get(model_name)
    example = inputs.make(model, 0, batch, layout=registry.get(backend).layout)
    source = Source(model=model_name, batch=batch, weights=weights.make(model), example=example)
    if memory == "host":
        step = made.load(source)
        return lambda: step(example)
    resident = made.load_resident(source)
    placed = resident.place(example)
    return lambda: resident.run(placed)


def measure(
    backend: str,
    model: str,
    *,
    device: str,
    batch: int = 1,
    turns: int = TURNS,
    seed: int = 1,
    memory: str = "device",
) -> dict[str, list[float]]:
    """Let every clock take its turns on one loaded model; return the nanoseconds of each, by clock."""
    call = load(backend, model, device, batch, memory=memory)
    for _ in range(SETTLE_CALLS):
        call()
    there = clocks_for(backend, device)
    found: dict[str, list[float]] = {name: [] for name in there}
    order = random.Random(seed)  # noqa: S311  (a schedule, not a secret)
    for _ in range(turns):
        for name in order.sample(list(there), len(there)):
            found[name].append(there[name](call))
    return found


def compare(found: dict[str, list[float]]) -> list[Agreement]:
    """Compare every other clock with ours, turn by turn."""
    from levelfield.statistics.ratios import ratio_interval

    ours = [math.log(value) for value in found[OURS]]
    agreements = []
    for name, values in found.items():
        if name != OURS:
            interval = ratio_interval(ours, [math.log(value) for value in values])
            difference_ns = statistics.median(a - b for a, b in zip(found[OURS], values, strict=True))
            agreements.append(Agreement(name, interval.ratio, interval.low, interval.high, difference_ns))
    return agreements


def main(words: Sequence[str] | None = None) -> int:
    """Measure what the command line asks for, and print a line for each clock."""
    parser = argparse.ArgumentParser(prog="python -m studies.gpu.clock", description=__doc__.split("\n", 1)[0])
    parser.add_argument("--backends", default="torch,torch-compile")
    parser.add_argument("--models", default="resnet50,bert")
    parser.add_argument("--device", default="cuda", choices=["cuda", "cpu"])
    parser.add_argument("--batch", type=int, default=1)
    parser.add_argument("--turns", type=int, default=TURNS)
    parser.add_argument("--memory", default="device", choices=["device", "host"])
    parser.add_argument("--out", type=Path, help="JSON file of all turns")
    options = parser.parse_args(words)
    if options.turns < MIN_LAUNCHES:
        parser.error(f"An interval needs {MIN_LAUNCHES} turns at the least.")
    codes: list[int] = []
    findings: list[Finding] = []
    for backend in options.backends.split(","):
        for model in options.models.split(","):
            asked = {"device": options.device, "batch": options.batch, "memory": options.memory}
            try:
                found = measure(backend, model, turns=options.turns, **asked)
            except Unsupported as error:
                print(f"{backend} {model}: not measured: {error}")
                codes.append(COULD_NOT)
                continue
            print(f"{backend} {model}: {statistics.median(found[OURS]) / 1e6:.4f} ms by {OURS}")
            agreements = compare(found)
            findings.append(Finding(backend, model, options.memory, options.batch, found, agreements))
            for one in agreements:
                says = {AGREES: "agrees", DIFFERS: "differs", UNDECIDED: "is undecided"}[one.verdict]
                if one.clock in NOT_JUDGED:
                    says = "not judged"
                else:
                    codes.append(one.verdict)
                less = f"{one.difference_ns / 1e3:+.2f} µs"
                print(f"  over {one.clock}: {one.ratio:.4f} ({one.low:.4f} to {one.high:.4f}), {less}, {says}")
    if options.out is not None:
        write_atomically(options.out, msgspec.json.format(msgspec.json.encode(findings), indent=1) + b"\n")
    return next((code for code in (DIFFERS, COULD_NOT, UNDECIDED) if code in codes), AGREES if codes else COULD_NOT)


if __name__ == "__main__":
    sys.exit(main())
