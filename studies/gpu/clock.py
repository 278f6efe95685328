"""Whether a window of Levelfield's agrees with a bare loop, `torch.utils.benchmark` and CUDA's own events.

`python -m studies.gpu.clock` loads each model once, with its inputs on the device (or, with `--memory host`, as
NumPy arrays that every call copies there), and lets the clocks take turns in random order on that one function. So what
differs is the clock alone. It exits with 0 where all agree within 2 %, 1 where one does not, 2 where nothing could be
measured, 3 where it is undecided. On a CPU it runs without events.

References
----------
https://docs.pytorch.org/docs/stable/benchmark_utils.html; CUDA Runtime API, "Event Management".
"""

import importlib.util
import itertools
import math
import os
import random
import statistics
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import click
import msgspec

from levelfield.backends import registry
from levelfield.backends.protocol import Options, ResidentBackend, Source, Unsupported
from levelfield.options.values import NAMES
from levelfield.statistics.ratios import ratio_interval
from levelfield.statistics.student import MIN_LAUNCHES
from levelfield.worker.messages import Measure
from levelfield.worker.window import measure_window
from levelfield.zoo import inputs, models, weights
from studies import commands
from studies.harness.form_worker import bare_loop, torch_timer

WITHIN = 0.02
TURNS = 15
WINDOW_NS = 300_000_000
SETTLE_CALLS = 20
AGREES, DIFFERS, UNDECIDED = 0, 1, 3
OURS = "a window"

Clock = Callable[[Callable[[], object]], Sequence[float]]
"""Takes a function that returns when its work is done; gives nanoseconds of calls."""


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


def event_ns(call: Callable[[], object]) -> float:
    """Time a call by events that the GPU itself writes down, before and after it."""
    import torch

    start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    start.record()
    call()
    end.record()
    end.synchronize()
    return float(start.elapsed_time(end) * 1e6)


def by_events(call: Callable[[], object]) -> list[float]:
    times: list[float] = []
    while sum(times) < WINDOW_NS or len(times) < 3:
        times.append(event_ns(call))
    return times


def clocks_for(backend: str, device: str) -> dict[str, Clock]:
    """Return the clocks that can time a backend here; events are those of torch's own stream."""
    request = Measure(window_ns=WINDOW_NS, min_calls=3)
    found: dict[str, Clock] = {
        OURS: lambda call: measure_window(lambda _: call(), (None,), request).samples_ns,
        "a bare loop": lambda call: bare_loop(lambda _: call(), None, WINDOW_NS, 3),
    }
    if importlib.util.find_spec("torch") is not None:
        found["torch.utils.benchmark"] = lambda call: torch_timer(lambda _: call(), None, WINDOW_NS, 3)
    if device == "cuda" and backend.startswith("torch"):
        found["CUDA events"] = by_events
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
    backend: str, model: str, *, device: str, batch: int = 1, turns: int = TURNS, memory: str = "device"
) -> dict[str, list[float]]:
    """Let every clock take its turns on one loaded model; return the nanoseconds of the typical call, by clock."""
    call = load(backend, model, device, batch, memory=memory)
    for _ in range(SETTLE_CALLS):
        call()
    clocks = clocks_for(backend, device)
    found: dict[str, list[float]] = {name: [] for name in clocks}
    order = random.Random(1)  # noqa: S311  (a schedule, not a secret)
    for name in (name for _ in range(turns) for name in order.sample(list(clocks), len(clocks))):
        found[name].append(statistics.median(clocks[name](call)))
    return found


def compare(found: dict[str, list[float]]) -> list[Agreement]:
    """Compare every other clock with ours, turn by turn."""
    agreements = []
    for name, values in found.items():
        if name != OURS:
            interval = ratio_interval(*([math.log(value) for value in each] for each in (found[OURS], values)))
            difference_ns = statistics.median(a - b for a, b in zip(found[OURS], values, strict=True))
            agreements.append(Agreement(name, interval.ratio, interval.low, interval.high, difference_ns))
    return agreements


@click.command(context_settings=commands.SETTINGS)
@click.option("--backends", type=NAMES, default=("torch", "torch-compile"), show_default=True)
@click.option("--models", type=NAMES, default=("resnet50", "bert"), show_default=True)
@click.option("--device", type=click.Choice(["cuda", "cpu"]), default="cuda", show_default=True)
@click.option("--batch", type=click.IntRange(1), default=1, show_default=True)
@click.option("--turns", type=click.IntRange(MIN_LAUNCHES), default=TURNS, show_default=True)
@click.option("--memory", type=click.Choice(["device", "host"]), default="device", show_default=True)
@click.option("--out", type=click.Path(path_type=Path), help="JSON file of all turns.")
def main(
    backends: tuple[str, ...],
    models: tuple[str, ...],
    device: str,
    batch: int,
    turns: int,
    memory: str,
    out: Path | None,
) -> None:
    """Compare the clock of a window with other clocks, on one loaded model."""
    codes: list[int] = []
    findings: list[Finding] = []
    for backend, model in itertools.product(backends, models):
        try:
            found = measure(backend, model, device=device, batch=batch, turns=turns, memory=memory)
        except Unsupported as error:
            click.echo(f"{backend} {model}: not measured: {error}")
            codes.append(commands.COULD_NOT_RUN)
            continue
        click.echo(f"{backend} {model}: {statistics.median(found[OURS]) / 1e6:.4f} ms by {OURS}")
        findings.append(Finding(backend, model, memory, batch, found, compare(found)))
        for one in findings[-1].agreements:
            codes.append(one.verdict)
            says = {AGREES: "agrees", DIFFERS: "differs", UNDECIDED: "is undecided"}[one.verdict]
            less = f"{one.difference_ns / 1e3:+.2f} µs"
            click.echo(f"  over {one.clock}: {one.ratio:.4f} ({one.low:.4f} to {one.high:.4f}), {less}, {says}")
    if out is not None:
        commands.write(findings, out)
    order = (DIFFERS, commands.COULD_NOT_RUN, UNDECIDED, AGREES)
    sys.exit(next((code for code in order if code in codes), commands.COULD_NOT_RUN))


if __name__ == "__main__":
    main()
